import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Owner, privateFile } from "./folder.ts";
import type { Server } from "./server.ts";

export interface Restartable extends Server {
  /** Ends it and starts it again on the same data; whoever was connected is not any more. */
  readonly restart: () => Promise<void>;
}

/**
 * The command of a daemon that is started again when it is told to.
 * @param later one more argument of every start but the first, or nothing
 */
export function again(command: readonly string[], later = ""): readonly string[] {
  return ["sh", "-c", AGAIN, "sh", later, ...command];
}

/** Its folder is where it runs. One that ends by itself ends all. */
const AGAIN = `
trap 'ending=yes' TERM
later=$1
shift
while [ -z "$ending" ]; do
  "$@" & echo $! >pid
  while kill -0 $! 2>/dev/null; do wait $!; done
  [ -e again ] || { [ -n "$ending" ]; exit; }
  [ -z "$later" ] || set -- "$@" "$later"
  rm again
done`;

/** Tells a daemon of `again` in this folder, and waits until its process has ended. */
export async function startAgain(folder: string, user: Owner, signal: "SIGTERM" | "SIGINT") {
  const told = join(folder, "again");
  privateFile(told, "", user);
  process.kill(Number(readFileSync(join(folder, "pid"), "utf8")), signal);
  while (existsSync(told)) await sleep(20);
}
