/** Lines kept for each machine, and for all machines together. */
const MAX_LINES = 3;
const LONGEST = 500;
/** Maximum number of different lines about all machines. */
const AT_ONCE = 20;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;
const BAD = / (WARNING|ERROR|CRITICAL) /;
const DURING = /_sync_local_state|_do_takeover|take.?over|find the following (interface|driver)/i;
/** Continuation of a trace. The first line of a trace has the whole message. */
const TRACE = / ERROR \S+ (Traceback |\s|\^)/;

/**
 * Conductor log lines about the watched machines. A failed takeover logs at most one DEBUG line,
 * and a failed periodic task names no machine. So the last lines of both kinds are kept, without
 * repeats.
 * @source facts/ironic.md 0.9, 2.2
 */
export function createQuotes() {
  const byUuid = new Map<string, readonly string[]>();
  let all: readonly string[] = [];
  const reported = new Set<string>();
  return {
    /** Adds log lines. Returns new lines that concern all machines. */
    add(lines: readonly string[], watched: { readonly has: (uuid: string) => boolean }) {
      const news: string[] = [];
      for (const line of lines) {
        if (TRACE.test(line)) continue;
        const uuids = new Set(
          line
            .toLowerCase()
            .match(UUID)
            ?.filter((uuid) => watched.has(uuid)),
        );
        const quoted = quote(line);
        for (const uuid of uuids) byUuid.set(uuid, withLine(byUuid.get(uuid) ?? [], quoted));
        if (uuids.size > 0 || !BAD.test(line) || !DURING.test(line)) continue;
        if (reported.size < AT_ONCE && !reported.has(essence(quoted))) news.push(quoted);
        if (reported.size < AT_ONCE) reported.add(essence(quoted));
        all = withLine(all, quoted);
      }
      return news;
    },
    /** Last lines that explain why a machine was not taken over. Empty if the logs have none. */
    of(uuid: string): readonly string[] {
      const lines = byUuid.get(uuid) ?? [];
      const bad = lines.filter((line) => BAD.test(line));
      return [...(bad.length > 0 ? bad : lines), ...all];
    },
    forget: (uuid: string) => byUuid.delete(uuid),
  };
}

function withLine(lines: readonly string[], line: string): readonly string[] {
  return [...lines.filter((other) => essence(other) !== essence(line)), line].slice(-MAX_LINES);
}

/** The line without time, process and request. */
function essence(line: string): string {
  return line.replace(/^[\d\s:.,-]+/, "").replace(/\[[^\]]*\]/, "");
}

/** The line for display: shortened, and each value that may be a secret masked. */
export function quote(line: string): string {
  // The patterns backtrack, so a line of megabytes would take too long.
  const masked = line
    .slice(0, 2 * LONGEST)
    .trimEnd()
    .replace(ASSIGNED, "$1***")
    .replace(OPTION, "$1***")
    .replace(LOGIN, "$1***")
    .replace(ATTACHED, "$1-p***")
    .replace(IN_URL, "$1***@");
  return masked.length > LONGEST ? `${masked.slice(0, LONGEST)}...` : masked;
}

const NAME = "[\\w.-]*(?:pass|pwd|secret|token|cred|community|_key)[\\w.-]*";
const VALUE = `"(?:\\\\.|[^"\\\\])*"?|'(?:\\\\.|[^'\\\\])*'?|[^\\s,;&}\\])]+`;
const ASSIGNED = new RegExp(`(${NAME}\\\\*["']?\\s*(?:[:=]|=>)\\s*u?)(?:${VALUE})`, "gi");
const OPTION = /( -[PYK] |--(?:password|token|community)[ =])(?:"[^"]*"|'[^']*'|\S+)/g;
/** A login as curl accepts it. The part before the colon is not secret. */
const LOGIN =
  /([\s"',](?:-\w*u|--(?:proxy-)?user)["',\s=]*?)("[^"]*:[^"]*"|'[^']*:[^']*'|[^\s"',:]+:[^\s"']+)/g;
/** As a shell prints a command. The password may be quoted together with its option. */
const ATTACHED =
  /(\b(?:mysql|mariadb|sshpass)[\w-]*\b[^|;&]*? )(?:'-p[^']+'|"-p[^"]+"|-p(?:'[^']*'|"[^"]*"|\S)+)/g;
const IN_URL = /(\w:\/\/[^\s:@/]*:)[^\s/]*@/g;

export type LogFault = ReturnType<typeof faultOf>;

interface Open {
  readonly line: number;
  readonly first: string;
  readonly last: string | null;
}

/** @source facts/systems.md D4, log rules */
const FAULT =
  / (?:ERROR|CRITICAL) |Traceback \(most recent call last\)|Cannot validate|MissingParameterValue|Failed to set DHCP BOOT options|was previously registered/;
/** A line of a trace: Juno's level TRACE, or oslo's level ERROR without a context, or no date. */
const TRACED = /^\S+ \S+ \d+ (?:TRACE |ERROR \S+ (?!\[))|^(?!\d{4}-\d\d-\d\d|[A-Z][a-z]{2} +\d)/;

/**
 * Faults in a log, in order. A trace is one fault together with the line before it.
 * @param more additional fault pattern for this kind of log
 */
export async function* logFaults(
  lines: AsyncIterable<{ readonly line: number; readonly text: string }>,
  more: RegExp | null = null,
): AsyncGenerator<LogFault> {
  let open: Open | null = null;
  for await (const { line, text } of lines) {
    if (open !== null && TRACED.test(text)) {
      open = { line: open.line, first: open.first, last: text.trim() === "" ? open.last : text };
      continue;
    }
    if (open !== null) yield faultOf(open);
    const bad = FAULT.test(text) || more?.test(text) === true;
    open = bad ? { line, first: text, last: null } : null;
  }
  if (open !== null) yield faultOf(open);
}

/** Secrets masked. For a trace: its first and last line. */
function faultOf({ line, first, last }: Open) {
  return { line, text: last === null ? quote(first) : `${quote(first)} ... ${quote(last)}` };
}
