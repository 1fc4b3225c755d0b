import type { ServiceTimes } from "../../model/nova-rows.ts";
import type { Restart, SettingsPart } from "../../model/settings.ts";

/** Where a log says that a service began last. */
export interface LoggedStart {
  /** As the log writes it: the local time of its host. */
  readonly at: string;
  /** The time of its last line, and when the file itself was written last. */
  readonly ends: string;
  readonly written: Date;
  /** `file:line`. */
  readonly where: string;
}

/** What is known of one service that reads files which had to change. */
export interface SeenService {
  readonly host: string;
  readonly part: SettingsPart;
  /** When the newest of its files changed. */
  readonly changed: Date;
  readonly now: Date;
  /** Null: it has none; absent: nova was not asked. */
  readonly row?: ServiceTimes | null;
  /** Null: no start is in the log; absent: no log was given. */
  readonly start?: LoggedStart | null;
}

/** What each start of one of Nova's services says, Havana to today. @source nova/service.py, start */
const STARTING =
  /^(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)\S* .*\bStarting (compute|scheduler) node \(version /;

/** The last start of a service in a log; null: there is none. @param written when the file was written last */
export async function lastStartOf(
  part: SettingsPart,
  { path, written }: { readonly path: string; readonly written: Date },
  lines: AsyncIterable<{ readonly line: number; readonly text: string }>,
): Promise<LoggedStart | null> {
  let last: Pick<LoggedStart, "at" | "where"> | null = null;
  let ends = "";
  for await (const { line, text } of lines) {
    ends = DATED.exec(text)?.[1] ?? ends;
    const [, at, topic] = STARTING.exec(text.slice(0, LONGEST)) ?? [];
    if (at !== undefined && topic === part) last = { at, where: `${path}:${line}` };
  }
  return last && { ...last, ends, written };
}

const DATED = /^(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)/;

/** Milliseconds two clocks may differ. */
const SLACK = 60_000;

/** As this machine reads a time without a zone. */
function timeOf(text: string): number {
  return new Date(text.replace(" ", "T")).getTime();
}

/** Characters of a line that are looked at. */
const LONGEST = 1_000;

/**
 * Whether a service was started since its files changed. A row of nova.services has no time of a start:
 * it shows that a service is new, or that it has not run since; of one that reports, only its log says.
 *
 * @source facts/systems.md D4; nova 26.2 objects/service.py, whose columns are those of Havana and two times
 */
export function judgeRestart({ host, part, changed, now, row, start }: SeenService): Restart {
  const service = `nova-${part}`;
  const about = { host, service, changed: changed.toISOString() };
  const ago = (now.getTime() - changed.getTime()) / 1000;
  if (start) {
    // Logs are written in whole seconds of a time without a zone.
    const after = timeOf(start.at) >= Math.floor(+changed / 1000) * 1000;
    const elsewhere =
      timeOf(start.ends) > +start.written + SLACK || timeOf(start.at) > +now + SLACK;
    const found = elsewhere
      ? `started ${start.at}, by a clock or in a time zone that is not this machine's`
      : `started ${start.at}`;
    const state = elsewhere ? "unknown" : after ? "restarted" : "not restarted";
    return { ...about, state, found, where: start.where };
  }
  const unknown = { ...about, state: "unknown", where: null } as const;
  if (row === null)
    return { ...unknown, state: "not restarted", found: `no ${service} in nova.services` };
  if (row !== undefined) {
    const { reported, created } = row;
    if (created !== null && created <= ago)
      return { ...unknown, state: "restarted", found: "its first start: the row is newer" };
    if (reported === null || reported > ago)
      return { ...unknown, state: "not restarted", found: "has not reported since" };
  }
  if (start === null) return { ...unknown, found: "no start in the log" };
  return { ...unknown, found: "reports; nova.services has no time of its start" };
}
