import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Server } from "../lab/server.ts";

/** Ticks of the kernel's clock in a second: 100 on every Linux. */
const TICKS = 100;

/** What /proc says of a process: its parent, and ticks of it and of children that it has waited for. */
interface Stat {
  readonly parent: number;
  readonly own: number;
  readonly children: number;
}

/** Null for a process that is gone. */
function statOf(pid: number | "self"): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program may hold blanks; behind it are the state and then numbers.
    const words = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const at = (index: number): number => Number(words[index] ?? 0);
    return { parent: at(1), own: at(11) + at(12), children: at(13) + at(14) };
  } catch {
    return null;
  }
}

export function secondsOf(pid: number): number {
  return (statOf(pid)?.own ?? 0) / TICKS;
}

export function secondsOfChildren(): number {
  return (statOf("self")?.children ?? 0) / TICKS;
}

export function secondsOfServer(server: Server): number {
  const pid = pidOf(server);
  const main = statOf(pid);
  if (main === null) throw new Error(`no server runs as ${pid}`);
  let ticks = main.own + main.children;
  if (server.engine === "postgresql")
    for (const name of readdirSync("/proc")) {
      const stat = /^\d+$/.test(name) ? statOf(Number(name)) : null;
      if (stat?.parent === pid) ticks += stat.own + stat.children;
    }
  return ticks / TICKS;
}

function pidOf({ engine, socket }: Server): number {
  const file =
    engine === "mysql"
      ? join(dirname(socket), "data", "pid")
      : join(socket, "data", "postmaster.pid");
  return Number.parseInt(readFileSync(file, "utf8"), 10);
}
