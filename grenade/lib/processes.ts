import { readdirSync, readFileSync } from "node:fs";

/** Of the processor's clock, in a second. */
const TICKS = 100;

/** Ids of all that this process started, and of what they started. */
export function descendants(): readonly number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc").filter((one) => /^\d+$/.test(one))) {
    const [, parent = ""] = statOf(Number(name));
    const siblings = children.get(Number(parent)) ?? [];
    children.set(Number(parent), [...siblings, Number(name)]);
  }
  const found: number[] = [];
  const next = [...(children.get(process.pid) ?? [])];
  for (let pid = next.pop(); pid !== undefined; pid = next.pop()) {
    found.push(pid);
    next.push(...(children.get(pid) ?? []));
  }
  return found;
}

/** What the processor has done until now for this process and all that it started, in seconds. */
export function processorSeconds(): number {
  // User and system, its own and that of children that ended.
  const ticks = (pid: number): number =>
    statOf(pid)
      .slice(11, 15)
      .reduce((sum, one) => sum + Number(one), 0);
  return [process.pid, ...descendants()].reduce((sum, pid) => sum + ticks(pid), 0) / TICKS;
}

/** From its state on: the program's name before that, in brackets, may have blanks. */
function statOf(pid: number): readonly string[] {
  const [, fields = ""] = /.*\) (.*)/.exec(textOf(pid, "stat")) ?? [];
  return fields.split(" ");
}

/** A file of a process; empty when it is gone. */
export function textOf(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}
