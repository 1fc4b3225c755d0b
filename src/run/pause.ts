import { existsSync } from "node:fs";
import { duration } from "../lib/text.ts";
import { now, rest } from "./process-context.ts";
import type { Sink } from "./sink.ts";

/** Milliseconds between checks, and between reports. */
const TICK = 500;
const REPORT = 5 * 60_000;

/** Waits while the file exists. A signal ends the process, because no change is in progress. */
export async function paused(
  file: string | undefined,
  { report }: Pick<Sink, "report">,
): Promise<void> {
  if (file === undefined || !existsSync(file)) return;
  const [since, began] = [`${new Date().toISOString().slice(0, 19)}Z`, now()];
  report(`Paused: ${file} exists. Remove it to continue.`);
  let reported = began;
  while (existsSync(file)) {
    await rest(TICK);
    if (now() - reported < REPORT) continue;
    reported = now();
    report(
      `Paused since ${since} (${duration((reported - began) / 1000)}): ${file} exists. Remove it to continue.`,
    );
  }
}
