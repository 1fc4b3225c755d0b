import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { type EventEmitter, once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { entrust, type Owner } from "./folder.ts";

/**
 * Makes a data folder and runs a server on it that dies with this process, however this process ends: a shell waits
 * beside it on a pipe from here, and when the pipe breaks it ends the server and removes the folder. It does not keep
 * the event loop alive.
 * @param init the command that makes the data folder
 * @param options.folder it lives in, removed at the end
 * @param options.signal that makes the server end quickly
 */
export function startDaemon(
  init: readonly string[],
  server: readonly string[],
  options: { readonly folder: string; readonly signal: "TERM" | "QUIT"; readonly owner: Owner },
) {
  entrust(options.folder);
  const serve = `exec ${quoted(server)}`;
  const child = spawn("/bin/sh", ["-c", WATCHED, "sh", `${quoted(init)} && ${serve}`, serve], {
    ...options.owner,
    cwd: options.folder,
    env: {
      PATH: `${process.env.PATH ?? ""}:/usr/sbin:/usr/bin:/bin`,
      LC_ALL: "C.UTF-8",
      TZ: "UTC",
      HOME: options.folder,
      FOLDER: options.folder,
      SIGNAL: options.signal,
    },
    // A process group of its own: Ctrl-C reaches us first, and the server when we are done.
    detached: true,
    stdio: ["pipe", "ignore", "pipe"],
  });
  let words = "";
  let ended = false;
  const end = once(child, "close").then(() => {
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
    /** The last lines of its log, when it ended by itself. */
    lastWords: () => words,
    /** Tells the server's own process; one that is killed so ended by itself. */
    signal: (name: NodeJS.Signals) => {
      process.kill(Number(readFileSync(join(options.folder, PID), "utf8")), name);
    },
    /** Ends it and removes its folder; resolves when both are done. */
    stop: async () => {
      child.ref();
      child.stdin.end();
      await end;
    },
  };
}

export type Daemon = ReturnType<typeof startDaemon>;

/**
 * Below those that a kernel gives out by itself, to listeners and to connections. 10000 is the deploy helper's: who
 * had it would be taken for one.
 */
const PORTS = { first: 10_001, last: 32_000 } as const;

/**
 * A TCP port of 127.0.0.1 that nobody listens on, and that no process of ours is given until this
 * one ends: services start up to a minute after their ports were chosen, and Python's would share a
 * port with each other without a word (SO_REUSEPORT).
 *
 * A UDP socket of the same number reserves it: one process alone can have it, it leaves the TCP port
 * free for the service, and the kernel closes it when this process ends, however it ends.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.first, PORTS.last);
    const reserved = createSocket("udp4").bind({ address: "127.0.0.1", port, exclusive: true });
    if ((await isOwned(reserved)) && (await isFree(port))) {
      reserved.unref();
      return port;
    }
    reserved.close();
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen({ host: "127.0.0.1", port });
  if (!(await isOwned(server))) return false;
  server.close();
  await once(server, "close");
  return true;
}

/** Whether a socket has its port; false where another one has it. */
async function isOwned(socket: EventEmitter): Promise<boolean> {
  try {
    await once(socket, "listening");
    return true;
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE") return false;
    throw cause;
  }
}

function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
}

/** Holds the id of the server's process, which the shell that makes its folder becomes. */
const PID = "server.pid";

/**
 * The signal goes to the whole process group, which the shell itself outlives to clean up; and
 * again and again, as what makes a data folder may ignore it. One that dies of SIGSEGV is started
 * again: a Keystone of Debian 12 was seen to, amid a test that had done nothing to it.
 */
const WATCHED = `
trap : TERM QUIT PIPE
exec 3<&0
begin() {
  /bin/sh -c "$1" </dev/null >>"$FOLDER/log" 2>&1 3<&- & server=$!
  echo $server >"$FOLDER/${PID}.new" && mv "$FOLDER/${PID}.new" "$FOLDER/${PID}"
}
begin "$1"
(
  trap '' TERM QUIT PIPE
  read nothing <&3
  while server=$(cat "$FOLDER/${PID}") && kill -0 $server; do kill -"$SIGNAL" 0; kill -CONT 0; sleep 0.1; done
) 2>/dev/null & watch=$!
wait $server
status=$?
while [ $status -eq ${128 + 11} ]; do
  begin "$2"
  wait $server
  status=$?
done
[ $status -eq 0 ] || tail -n 20 "$FOLDER/log" >&2
while kill -0 $server 2>/dev/null; do wait $server; done
kill -KILL $watch 2>/dev/null
cd /
rm -rf "$FOLDER" 2>/dev/null || { sleep 1; rm -rf "$FOLDER"; }
`;
