/** A line of a configuration file: what it is, and in which section. */
interface Line {
  /** With its end of line. */
  readonly text: string;
  readonly section: string | null;
  /** Key it begins or goes on with; null for anything else. */
  readonly key: string | null;
  /** Key that a comment shows: `#compute_driver=<None>`. */
  readonly sample: string | null;
  /** Goes on with the value of the line before. */
  readonly more: boolean;
}

/** The lines of a file that oslo.config has read already, so that its form is known to be right. */
export function linesOf(text: string): readonly Line[] {
  let section: string | null = null;
  let key: string | null = null;
  return (text.match(/[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$/g) ?? []).map((line) => {
    const bare = line.trimEnd();
    const plain = { text: line, key: null, sample: null, more: false };
    if (/^[ \t]/.test(bare)) return { ...plain, section, key, more: true };
    key = null;
    if (/^[#;]/.test(bare)) {
      const [, sample = null] = /^[#;]\s?([\w-]+)\s*[=:]/.exec(bare) ?? [];
      return { ...plain, section, sample };
    }
    if (bare.startsWith("[")) section = canonical(bare.slice(1, -1));
    else if (bare !== "") key = bare.slice(0, bare.search(/[=:]/)).trim();
    return { ...plain, section, key };
  });
}

/** Sections are compared in lower case, but for DEFAULT. @source oslo_config/cfg.py */
function canonical(section: string): string {
  return section === "DEFAULT" ? section : section.toLowerCase();
}

/** A key and its new value. */
export interface Edit {
  readonly section: string;
  readonly key: string;
  readonly value: string;
}

/**
 * The text with these values in force: the last assignment of a key is replaced; a new one stands
 * behind its sample in a comment, or at the end of its section, which is made where it is missing.
 */
export function withEdits(text: string, edits: readonly Edit[]): string {
  return edits.reduce(withEdit, text);
}

function withEdit(text: string, { section, key, value }: Edit): string {
  const lines = linesOf(text);
  const end = /\r\n|\n|\r/.exec(text)?.[0] ?? "\n";
  const line = `${key} = ${value}${end}`;
  const inside = lines.map((one) => one.section === canonical(section));
  const last = (holds: (one: Line) => boolean): number =>
    lines.findLastIndex((one, at) => inside[at] === true && holds(one));
  const set = last((one) => one.key === key && !one.more);
  if (set >= 0) {
    const rest = lines.slice(set + 1);
    const more = rest.findIndex((one) => !one.more);
    return joined(lines.slice(0, set), line, rest.slice(more < 0 ? rest.length : more), end);
  }
  const sample = last((one) => one.sample === key);
  const filled = sample >= 0 ? sample : last((one) => one.text.trim() !== "");
  if (filled >= 0) return joined(lines.slice(0, filled + 1), line, lines.slice(filled + 1), end);
  const gap = lines.length === 0 || lines.at(-1)?.text.trim() === "" ? "" : end;
  return joined(lines, `${gap}[${section}]${end}${line}`, [], end);
}

function joined(
  before: readonly Line[],
  line: string,
  after: readonly Line[],
  end: string,
): string {
  const head = before.map(({ text }) => text).join("");
  const open = head !== "" && !/[\r\n]$/.test(head) ? end : "";
  return `${head}${open}${line}${after.map(({ text }) => text).join("")}`;
}
