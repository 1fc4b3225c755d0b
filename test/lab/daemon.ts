import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { Owner } from "./folder.ts";

export interface Daemon {
  /** Ends it and removes its folder; resolves when both are done. */
  readonly stop: () => Promise<void>;
  readonly running: () => boolean;
  /** The last lines of its log, when it ended by itself. */
  readonly lastWords: () => string;
}

/**
 * Runs a server that dies with this process, however this process ends: a shell waits beside it
 * on a pipe from here, and when the pipe breaks it ends the server and removes the folder.
 * It does not keep the event loop alive.
 *
 * @param options.signal that makes the server end quickly
 */
export function startDaemon(
  command: readonly string[],
  options: { readonly folder: string; readonly signal: string; readonly owner: Owner },
): Daemon {
  const child = spawn("/bin/sh", ["-c", WATCHED, "sh", ...command], {
    ...options.owner,
    cwd: options.folder,
    env: environment({ FOLDER: options.folder, SIGNAL: options.signal }),
    // A process group of its own: Ctrl-C reaches us first, and the server when we are done.
    detached: true,
    stdio: ["pipe", "ignore", "pipe"],
  });
  let words = "";
  let ended = false;
  const exit = once(child, "exit").then(() => {
    ended = true;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    words += text;
  });
  child.stdin.on("error", () => {});
  child.unref();
  // Pipes of a child process are sockets, which typings of streams do not tell.
  for (const pipe of [child.stdin, child.stderr]) (pipe as unknown as { unref(): void }).unref();
  return {
    running: () => !ended,
    lastWords: () => words,
    stop: async () => {
      child.ref();
      child.stdin.end();
      await exit;
    },
  };
}

/** What a server and its tools see of our environment: nothing that belongs to the caller. */
export function environment(more: { readonly [name: string]: string }): NodeJS.ProcessEnv {
  const PATH = `${process.env.PATH ?? ""}:/usr/sbin:/usr/bin:/bin`;
  return { PATH, LC_ALL: "C.UTF-8", TZ: "UTC", ...more };
}

/** A TCP port of 127.0.0.1 that nobody listens on now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no TCP port was given");
  return address.port;
}

const WATCHED = `
exec 3<&0
"$@" </dev/null >"$FOLDER/log" 2>&1 3<&- & server=$!
(read nothing <&3; kill -"$SIGNAL" $server) 2>/dev/null & watch=$!
wait $server || tail -n 20 "$FOLDER/log" >&2
kill $watch 2>/dev/null
cd / && rm -rf "$FOLDER"
`;
