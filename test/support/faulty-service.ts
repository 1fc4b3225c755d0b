import { createServer, type IncomingHttpHeaders } from "node:http";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Json, parsedJson } from "../../src/model/json.ts";
import { listening } from "./listening.ts";

/** What becomes of a call: done and answered, unless this says otherwise. */
export interface Fault {
  /** The service does what was asked, whatever it says of it. */
  readonly done: boolean;
  /** Null: the connection breaks; without it, what it would say. */
  readonly says?: Says | null;
  /** It is not the service that says it, but somebody in between. */
  readonly between?: true;
  /** Milliseconds before it does it, and before it says so. */
  readonly before?: number;
  readonly after?: number;
}

export interface Says {
  readonly status: number;
  readonly text: string;
  /** Header fields of its own. */
  readonly fields?: { readonly [name: string]: string };
}

/** What stands for Ironic: it keeps what it is told, and microversions up to 1.`most`. */
interface Service {
  readonly most: number;
  readonly answer: (call: string, sent: Json, headers: IncomingHttpHeaders) => Says;
  /** Which calls are kept; all without it. */
  readonly kept?: (call: string) => boolean;
}

export interface FaultyService {
  readonly url: string;
  /** Calls as they came: `GET /v1/nodes?limit=1000`. */
  readonly calls: string[];
  /** Asked for every call; null lets it pass. */
  readonly use: (fault: (call: string, headers: IncomingHttpHeaders) => Fault | null) => void;
}

/** Serves one on loopback until the test ends, with faults at calls of choice. */
export async function faultyService(
  t: Pick<TestContext, "after">,
  { most, answer, kept = () => true }: Service,
): Promise<FaultyService> {
  const calls: string[] = [];
  let choose: Parameters<FaultyService["use"]>[0] = () => null;
  const server = createServer(async (asked, answered) => {
    const chunks: Buffer[] = [];
    for await (const chunk of asked) chunks.push(chunk as Buffer); // no encoding is set
    const call = `${asked.method} ${asked.url}`;
    if (kept(call)) calls.push(call);
    const { done = true, says, between, before, after } = choose(call, asked.headers) ?? {};
    const sent = parsedJson(Buffer.concat(chunks).toString());
    if (before !== undefined) await sleep(before, null, { ref: false });
    const own = done ? answer(call, sent, asked.headers) : null;
    if (after !== undefined) await sleep(after, null, { ref: false });
    const said = says === undefined ? own : says;
    if (said === null || answered.destroyed) return void asked.socket.resetAndDestroy();
    const version = asked.headers["x-openstack-ironic-api-version"];
    answered.writeHead(said.status, {
      "X-OpenStack-Ironic-API-Minimum-Version": "1.1",
      "X-OpenStack-Ironic-API-Maximum-Version": `1.${most}`,
      ...said.fields,
      ...(version !== undefined && !between && { "X-OpenStack-Ironic-API-Version": version }),
    });
    answered.end(said.text);
  });
  return {
    url: await listening(t, server),
    calls,
    use: (fault) => {
      choose = fault;
    },
  };
}
