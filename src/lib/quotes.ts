/** Lines kept of one machine, and of all machines together. */
const KEPT = 3;
const LONGEST = 500;
/** Different lines about all machines that are quoted at once. */
const AT_ONCE = 20;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;
const BAD = / (WARNING|ERROR|CRITICAL) /;
const DURING = /_sync_local_state|_do_takeover|take.?over|find the following (interface|driver)/i;
/** A line of a trace after its first, which says it all. */
const TRACE = / ERROR \S+ (Traceback |\s|\^)/;

/**
 * Lines of conductors' logs, kept for the machines that are watched. A failing take-over is one DEBUG line at best, and what ends the periodic task of all machines
 * names none of them: both kinds are kept, the last ones, without what repeats itself.
 *
 * @source facts/ironic.md 0.9, 2.2
 */
export function createQuotes() {
  const own = new Map<string, readonly string[]>();
  let all: readonly string[] = [];
  const shown = new Set<string>();
  return {
    /** Notes what the logs gained; gives new lines that concern all machines. */
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
        for (const uuid of uuids) own.set(uuid, kept(own.get(uuid) ?? [], quoted));
        if (uuids.size > 0 || !BAD.test(line) || !DURING.test(line)) continue;
        if (shown.size < AT_ONCE && !shown.has(essence(quoted))) news.push(quoted);
        if (shown.size < AT_ONCE) shown.add(essence(quoted));
        all = kept(all, quoted);
      }
      return news;
    },
    /** The last lines that tell why a machine was not taken over; none: the logs say nothing. */
    of(uuid: string): readonly string[] {
      const said = own.get(uuid) ?? [];
      const bad = said.filter((line) => BAD.test(line));
      return [...(bad.length > 0 ? bad : said), ...all];
    },
    /** Its lines are needed no more. */
    forget: (uuid: string) => own.delete(uuid),
  };
}

function kept(lines: readonly string[], line: string): readonly string[] {
  return [...lines.filter((other) => essence(other) !== essence(line)), line].slice(-KEPT);
}

/** What a line says, but for when and in which process and request. */
function essence(line: string): string {
  return line.replace(/^[\d\s:.,-]+/, "").replace(/\[[^\]]*\]/, "");
}

/** A line as it may be shown: not too long, secrets masked. */
export function quote(line: string): string {
  // A mask looks back and forth: not over a line of megabytes.
  const masked = withoutSecrets(line.slice(0, 2 * LONGEST).trimEnd());
  return masked.length > LONGEST ? `${masked.slice(0, LONGEST)}...` : masked;
}

const NAME = "[\\w.-]*(?:pass|pwd|secret|token|cred|community|_key)[\\w.-]*";
const VALUE = `"(?:\\\\.|[^"\\\\])*"?|'(?:\\\\.|[^'\\\\])*'?|[^\\s,;&}\\])]+`;
const ASSIGNED = new RegExp(`(${NAME}\\\\*["']?\\s*(?:[:=]|=>)\\s*u?)(?:${VALUE})`, "gi");
const OPTION = /( -[PYK] |--(?:password|token|community)[ =])(?:"[^"]*"|'[^']*'|\S+)/g;
/** A login as curl takes it; what stands before the colon is nobody's secret. */
const LOGIN =
  /([\s"',](?:-\w*u|--(?:proxy-)?user)["',\s=]*?)("[^"]*:[^"]*"|'[^']*:[^']*'|[^\s"',:]+:[^\s"']+)/g;
/** As a shell shows what it runs: the word may be quoted with its option. */
const ATTACHED =
  /(\b(?:mysql|mariadb|sshpass)[\w-]*\b[^|;&]*? )(?:'-p[^']+'|"-p[^"]+"|-p(?:'[^']*'|"[^"]*"|\S)+)/g;
const IN_URL = /(\w:\/\/[^\s:@/]*:)[^\s/]*@/g;

/** The line with every value that looks like a secret's masked: by its name, option or place. */
export function withoutSecrets(line: string): string {
  return line
    .replace(ASSIGNED, "$1***")
    .replace(OPTION, "$1***")
    .replace(LOGIN, "$1***")
    .replace(ATTACHED, "$1-p***")
    .replace(IN_URL, "$1***@");
}

/** Something a service's log complains of. */
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
const FAULT =
  / (?:ERROR|CRITICAL) |Traceback \(most recent call last\)|Cannot validate|MissingParameterValue|Failed to set DHCP BOOT options|was previously registered/;
/** A line of a trace: Juno's level for it, oslo's without the context other lines have, or undated. */
const TRACED = /^\S+ \S+ \d+ (?:TRACE |ERROR \S+ (?!\[))|^(?!\d{4}-\d\d-\d\d|[A-Z][a-z]{2} +\d)/;

/**
 * What is wrong in a log, in its order; a trace is one fault with what it belongs to.
 *
 * @param more what else is a fault in this kind of log
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

function faultOf({ line, first, last }: Open): LogFault {
  return { line, text: last === null ? quote(first) : `${quote(first)} ... ${quote(last)}` };
}
