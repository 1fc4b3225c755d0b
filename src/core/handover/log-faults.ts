import { quote } from "./quotes.ts";

/** Something a conductor's log complains of. */
export interface LogFault {
  readonly line: number;
  /** Secrets masked; of a trace its first and its last line. */
  readonly text: string;
}

interface Open {
  readonly line: number;
  readonly first: string;
  /** What was raised, or as much as is known of it. */
  readonly last: string | null;
}

/** @source facts/systems.md D4, log rules */
const BAD =
  / (?:ERROR|CRITICAL) |Traceback \(most recent call last\)|Cannot validate|MissingParameterValue|Failed to set DHCP BOOT options|was previously registered/;
/** A line of a trace: Juno's level for it, oslo's without the context other lines have, or undated. */
const TRACE = /^\S+ \S+ \d+ (?:TRACE |ERROR \S+ (?!\[))|^(?!\d{4}-\d\d-\d\d|[A-Z][a-z]{2} +\d)/;

/** What is wrong in a log, in its order; a trace is one fault with what it belongs to. */
export async function* logFaults(
  lines: AsyncIterable<{ readonly line: number; readonly text: string }>,
): AsyncGenerator<LogFault> {
  let open: Open | null = null;
  for await (const { line, text } of lines) {
    if (open !== null && TRACE.test(text)) {
      open = { line: open.line, first: open.first, last: text.trim() === "" ? open.last : text };
      continue;
    }
    if (open !== null) yield told(open);
    open = BAD.test(text) ? { line, first: text, last: null } : null;
  }
  if (open !== null) yield told(open);
}

function told({ line, first, last }: Open): LogFault {
  return { line, text: last === null ? quote(first) : `${quote(first)} ... ${quote(last)}` };
}
