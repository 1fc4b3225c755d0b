import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { packageRoot } from "../../src/run/files/package-root.ts";
import { sqlalchemy } from "../../test/lab/cloud/config.ts";
import { freePort } from "../../test/lab/daemon.ts";
import { privateFolder } from "../../test/lab/folder.ts";
import { HOST, RESOURCE_CLASS } from "./base.ts";
import type { Deployment } from "./deployment.ts";
import { endWithUs } from "./ended.ts";
import { PROGRAM } from "./product.ts";
import type { Stack } from "./stack.ts";

/** What a script that asks is told; the program's own, where it asked for that. */
export interface Answer {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

/** Who does what scripts ask for, by the first word: `start nova-compute`. */
export type Serves = {
  readonly [what: string]: ((...words: readonly string[]) => Promise<Answer>) | undefined;
};

/** A plugin's scripts, called as Grenade calls them, on functions that stand in for its own. */
export interface Scripts {
  /** `resources verify pre-upgrade`, `shutdown`: one step of Grenade; throws where it fails. */
  readonly call: (...step: readonly string[]) => Promise<void>;
  readonly stop: () => void;
}

export const DONE: Answer = { status: 0, out: "", err: "" };
/** Both sides of a sideways upgrade. */
const BRANCH = "stable/zed";

/** What scripts print is kept in the rehearsal's `scripts/`. */
export async function startScripts(
  { stack, files: { folder, novaConf, tftp } }: Pick<Deployment, "stack" | "files">,
  serves: Serves,
  tell: (line: string) => void,
): Promise<Scripts> {
  // A socket's path has 107 characters at most.
  const place = privateFolder("n2i-scripts-", {});
  const socket = join(place, "socket");
  const own = join(folder, "scripts");
  mkdirSync(own, { recursive: true, mode: 0o700 });
  const server = createServer(async (request, response) => {
    const [what = "", ...words] = await faultText(request);
    const answer = await (
      serves[what]?.(...words) ?? Promise.reject(new Error(`nobody does ${what}`))
    ).catch((cause: Error) => ({ status: 1, out: "", err: `${cause.message}\n` }));
    response.end(JSON.stringify(answer));
  }).listen(socket);
  await once(server, "listening");
  const env = {
    ...environment(stack, { folder, own, place, socket, port: await freePort() }),
    ...{ NOVA_CONF: novaConf, N2I_TFTP_ROOT: tftp },
  };
  let count = 0;
  return {
    call: async (...step) => {
      const began = Date.now();
      const name = `${String(++count).padStart(2, "0")}-${step.join("-")}.txt`;
      const log = createWriteStream(join(own, name), { mode: 0o600 });
      const child = spawn(join(env.GRENADE_DIR, "call"), step, {
        env,
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
      });
      const ended = endWithUs(child);
      child.stdout.pipe(log, { end: false });
      child.stderr.pipe(log, { end: false });
      const [status] = await once(child, "close");
      ended();
      log.end();
      const seconds = ((Date.now() - began) / 1000).toFixed(1);
      tell(`${step.join(" ")}: exit ${status}, ${seconds} s`);
      if (status !== 0) throw new Error(`${step.join(" ")} failed: see ${join(own, name)}`);
    },
    stop: () => {
      server.closeAllConnections();
      server.close();
      rmSync(place, { recursive: true, force: true });
    },
  };
}

/** What a DevStack's own files would say. */
function environment(
  { server, cloud, ironic }: Stack,
  at: {
    readonly folder: string;
    readonly own: string;
    readonly place: string;
    readonly socket: string;
    readonly port: number;
  },
) {
  const standin = join(packageRoot(), "grenade", "lib", "standin");
  const ask = join(import.meta.dirname, "ask.js");
  const program = join(at.place, "nova2ironic");
  // What serves is the script's own, which ends it.
  const itself = `[ "$1" != serve ] || exec "${process.execPath}" "${PROGRAM}" "$@"`;
  const asks = `exec "${process.execPath}" "${ask}" run "$@"`;
  writeFileSync(program, `#!/bin/sh\n${itself}\n${asks}\n`, { mode: 0o700 });
  const devstack = join(standin, "devstack");
  return {
    ...{ PATH: process.env.PATH ?? "", HOME: at.place, LC_ALL: "C.UTF-8", ...cloud.env },
    ...{ GRENADE_DIR: standin, SAVE_DIR: at.own, TOP_DIR: devstack, DATA_DIR: at.folder },
    ...{ BASE_DEVSTACK_DIR: devstack, TARGET_DEVSTACK_DIR: devstack },
    ...{ BASE_DEVSTACK_BRANCH: BRANCH, TARGET_DEVSTACK_BRANCH: BRANCH },
    IRONIC_DEVSTACK_DIR: devstack,
    NOVA2IRONIC: program,
    ...{ N2I_PROXY: `127.0.0.1:${at.port}`, N2I_IRONIC_URL: ironic.url },
    N2I_UPGRADE_DIR: join(packageRoot(), "grenade", "devstack", "upgrade"),
    ...{ N2I_DATA_DIR: at.folder, N2I_HOST: HOST, N2I_RESOURCE_CLASS: RESOURCE_CLASS },
    // Beside the tenants that are there.
    N2I_SERVERS: "2",
    ...{ STANDIN_ASK: ask, STANDIN_SOCKET: at.socket, STANDIN_IRONIC_DATABASE: ironic.database },
    STANDIN_DATABASES: sqlalchemy(server, "DATABASE"),
  };
}

async function faultText(request: IncomingMessage): Promise<readonly string[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  // lib/ask.ts wrote it.
  return JSON.parse(Buffer.concat(chunks).toString()) as readonly string[];
}
