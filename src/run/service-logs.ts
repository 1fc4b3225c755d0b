import type { LogFault } from "../lib/quotes.ts";
import { checkLog, linesOf } from "../systems/logs/scan.ts";
import type { Sink } from "./sink.ts";

type LogPosition = ReturnType<typeof locationOf>;

/** Maximum listed faults per log. Further faults are counted. */
const LISTED = 20;

/** `FILE`, or `FILE:LINE` to start at a line. @throws MigrationError N2I-E105 if unreadable */
export async function logsAt(locations: readonly string[]): Promise<readonly LogPosition[]> {
  const logs = locations.map(locationOf);
  for (const { path } of logs) await checkLog(path);
  return logs;
}

/** @param judge finds the faults from a line on @returns their number */
export async function listFaults(
  logs: readonly LogPosition[],
  judge: (
    lines: (from: number) => ReturnType<typeof linesOf>,
    from: number,
  ) => AsyncIterable<LogFault>,
  sink: Sink,
): Promise<number> {
  let count = 0;
  const faults = async function* (): AsyncGenerator<LogFault & Pick<LogPosition, "path">> {
    for (const { path, from } of logs) {
      let fileCount = 0;
      for await (const fault of judge((at) => linesOf(path, at), from)) {
        fileCount += 1;
        if (fileCount <= LISTED) yield { ...fault, path };
      }
      count += fileCount;
    }
  };
  await sink.list("faults", faults());
  return count;
}

/** @returns `from`: first line to check */
function locationOf(log: string) {
  const [, path = log, line = "1"] = /^(.+):([1-9]\d{0,9})$/s.exec(log) ?? [];
  return { path, from: Number(line) };
}
