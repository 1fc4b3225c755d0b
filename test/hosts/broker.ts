import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { runBy } from "../../src/stages/session.ts";
import { privateFolder } from "../hostile/deployment.ts";

/** A queue of a broker in memory. */
interface Queue {
  messages: number;
  consumers: number;
}

export interface FakeBroker {
  readonly queues: Map<string, Queue>;
  /** `METHOD PATH`, in their order. */
  readonly asked: string[];
  /** With user and password. */
  readonly url: string;
  /** `--rabbit-url`, of a file that has it. */
  readonly words: readonly string[];
  /** Writes another address into the file. */
  readonly at: (url: string) => void;
}

const LOGIN = `Basic ${Buffer.from("nova:s3cret/pass").toString("base64")}`;

/**
 * RabbitMQ's management API as far as it is asked: queues of the vhost `nova`, behind a login. Of another
 * vhost it answers as of a queue that is not there.
 */
export async function fakeBroker(t: TestContext): Promise<FakeBroker> {
  // What is in it is counted at once: nobody waits for that.
  runBy({ now: Date.now, sleep: (ms) => sleep(ms / 100) });
  t.after(() => runBy(null));
  const queues = new Map<string, Queue>([["compute", { messages: 0, consumers: 2 }]]);
  const asked: string[] = [];
  const server = createServer(({ method = "", url = "", headers }, response) => {
    asked.push(`${method} ${url}`);
    const answer = (status: number, body?: object): void => {
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(body === undefined ? undefined : JSON.stringify(body));
    };
    if (headers.authorization !== LOGIN)
      return answer(401, { error: "not_authorized", reason: "Login failed" });
    const [, name = "", contents] = /^\/api\/queues\/nova\/([^/]+)(\/contents)?$/.exec(url) ?? [];
    const queue = queues.get(decodeURIComponent(name));
    if (queue === undefined) return answer(404, { error: "Object Not Found", reason: "Not Found" });
    if (method === "GET") return answer(200, { name, vhost: "nova", ...queue });
    if (method !== "DELETE" || contents === undefined) return answer(405);
    queue.messages = 0;
    return answer(204);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const url = `http://nova:s3cret%2Fpass@127.0.0.1:${port}/nova`;
  const file = join(privateFolder(t), "rabbit.url");
  const at = (other: string): void => writeFileSync(file, `${other}\n`, { mode: 0o600 });
  at(url);
  return { queues, asked, url, at, words: ["--rabbit-url", `file:${file}`] };
}
