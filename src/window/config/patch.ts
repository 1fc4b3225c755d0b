import { FILE_HEADERS_ONLY, formatPatch, type StructuredPatchHunk, structuredPatch } from "diff";
import { MigrationError } from "../../lib/error.ts";
import { shellArgument } from "../../lib/text.ts";
import { mayContainSecret } from "../../model/secret.ts";
import { PLACEHOLDER } from "../../model/settings.ts";

/** An empty assignment, or one of the placeholder. */
const EMPTY = new RegExp(`[=:]\\s*(?:${PLACEHOLDER})?\\s*$`);
const NO_END = "\\ No newline at end of file";

/**
 * A unified diff that sets these values. Empty if nothing changes. It omits context that may have a
 * secret, so that it can be shown and applied. If such a line itself is replaced, it is masked and
 * the patch cannot be applied.
 * @param name path of the file
 * @param text content, as UTF-8
 * @throws MigrationError N2I-E104 for line ends that `patch` does not support, and for a secret
 * after a byte order mark
 */
export function settingsPatch(name: string, text: string, edits: readonly Edit[]): string {
  // oslo.config reads a byte order mark as text, and refuses the file.
  const changed = (from: string): string => withEdits(from.replace(/^\uFEFF/, ""), edits);
  if (changed(text) === text) return "";
  if (/\r(?!\n)/.test(text))
    throw new MigrationError("N2I-E104", `${name}: lines end with only a carriage return`, {
      fix: "A patch cannot be created for such a file. Convert its line endings first.",
    });
  if (text.startsWith("\uFEFF") && hiddenLines(text).has(1))
    throw new MigrationError(
      "N2I-E104",
      `${name}: a byte order mark precedes a first line that may contain a secret`,
      {
        fix: `A patch would have to show that line. Remove the mark: sed -i '1s/^\\xEF\\xBB\\xBF//' ${shellArgument(name)}`,
      },
    );
  // A last line without an end would differ from the same line with one.
  const terminated = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  const patch = structuredPatch(name, name, terminated, changed(terminated), undefined, undefined, {
    context: 3,
  });
  const hidden = hiddenLines(text);
  const open = terminated === text ? 0 : terminated.split("\n").length - 1;
  const edited = edits.map(lineOf);
  const hunks = patch.hunks.flatMap((hunk) => visibleParts(hunk, hidden, open, edited));
  return formatPatch({ ...patch, hunks }, FILE_HEADERS_ONLY);
}

/** Hidden lines of the old file, from 1, with their continuation lines. */
function hiddenLines(text: string): ReadonlySet<number> {
  const hidden = new Set<number>();
  let before = false;
  for (const [at, { text: line, more }] of linesOf(text.replace(/^\uFEFF/, "")).entries()) {
    before = unfit(line) || (more && before);
    if (before) hidden.add(at + 1);
  }
  return hidden;
}

/** A secret, a login in an address, or a control character. */
function unfit(line: string): boolean {
  if (line.startsWith("[")) return false;
  // Names of plugins and classes, such as v3applicationcredential, are not secrets.
  const isName = /^\s*(auth_type|auth_plugin|compute_driver)\s*[=:]/.test(line);
  return (!isName && mayContainSecret(line)) || /:\/\/[^/\s]*@|[^\P{C}\t\r\n]|\uFFFD/u.test(line);
}

/** Lines of a hunk, each with the note about a missing line end, from these line numbers. */
interface Part {
  readonly old: number;
  readonly now: number;
  readonly entries: (readonly [line: string, ...remark: string[]])[];
}

/**
 * Splits a hunk at hidden context. Each part has equal context before and after.
 * @param open the number of a last line without an end, or 0
 * @param edited lines of the edits, which have no secret and must stay readable for `patch`
 */
function visibleParts(
  { oldStart, newStart, lines }: StructuredPatchHunk,
  hidden: ReadonlySet<number>,
  open: number,
  edited: readonly string[],
): readonly StructuredPatchHunk[] {
  let part: Part = { old: oldStart, now: newStart, entries: [] };
  const parts = [part];
  let [old, now] = [oldStart, newStart];
  for (const [at, line] of lines.entries()) {
    const isContext = line.startsWith(" ");
    // A line end that the patch adds is removed when the patch is reverted.
    const ends = old === open && lines[at + 1]?.startsWith("+") === true;
    if (isContext && (hidden.has(old) || (old === open && !ends))) {
      part = { old: old + 1, now: now + 1, entries: [] };
      parts.push(part);
    } else if (isContext && ends) {
      const text = line.slice(1);
      part.entries.push([`-${text}`, NO_END], [`+${text}`]);
    } else {
      const replaced = line.startsWith("-");
      const added = line.startsWith("+") && !edited.includes(line.slice(1).trimEnd());
      const secret = replaced ? hidden.has(old) : added && unfit(line.slice(1));
      const text = secret && !EMPTY.test(line) ? `${line.slice(0, 1)}(masked)` : line;
      part.entries.push(replaced && old === open ? [text, NO_END] : [text]);
    }
    if (!line.startsWith("+")) old += 1;
    if (!line.startsWith("-")) now += 1;
  }
  return parts.filter(({ entries }) => entries.some(isChange)).map(toHunk);
}

function isChange([line]: Part["entries"][number]): boolean {
  return !line.startsWith(" ");
}

/** Cuts context to equal lengths, because `patch` reads uneven context as a file's start or end. */
function toHunk({ old, now, entries }: Part): StructuredPatchHunk {
  const [first, last] = [entries.findIndex(isChange), entries.findLastIndex(isChange)];
  const context = Math.min(first, entries.length - 1 - last);
  const hunk = entries.slice(first - context, last + context + 1);
  const count = (sign: string): number => hunk.filter(([line]) => !line.startsWith(sign)).length;
  return {
    oldStart: old + first - context,
    newStart: now + first - context,
    oldLines: count("+"),
    newLines: count("-"),
    lines: hunk.flat(),
  };
}

/** The lines of a file that oslo.config has already parsed, with their line ends. */
function linesOf(text: string) {
  let section: string | null = null;
  let key: string | null = null;
  return (text.match(/[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$/g) ?? []).map((line) => {
    const bare = line.trimEnd();
    /** Continues the value of the previous line. */
    const more = /^[ \t]/.test(bare);
    const isComment = /^[#;]/.test(bare);
    // The key in a comment: `#compute_driver=<None>`.
    const [, sample = null] = /^[#;]\s?([\w-]+)\s*[=:]/.exec(bare) ?? [];
    if (!more) key = null;
    if (bare.startsWith("[")) section = canonical(bare.slice(1, -1));
    else if (!more && !isComment && bare !== "") key = bare.slice(0, bare.search(/[=:]/)).trim();
    return { text: line, section, key, sample, more };
  });
}

type Line = ReturnType<typeof linesOf>[number];

/** oslo.config ignores case, except for DEFAULT. @source oslo_config/cfg.py */
function canonical(section: string): string {
  return section === "DEFAULT" ? section : section.toLowerCase();
}

export interface Edit {
  readonly section: string;
  readonly key: string;
  readonly value: string;
}

/**
 * Sets values: the last assignment of a key is replaced. A new one is inserted after its commented
 * sample, or at the end of its section, which is created if missing.
 */
export function withEdits(text: string, edits: readonly Edit[]): string {
  return edits.reduce(withEdit, text);
}

function lineOf({ key, value }: Edit): string {
  return `${key} = ${value}`;
}

function withEdit(text: string, edit: Edit): string {
  const { section, key } = edit;
  const lines = linesOf(text);
  const end = /\r\n|\n|\r/.exec(text)?.[0] ?? "\n";
  const last = (holds: (one: Line) => boolean): number =>
    lines.findLastIndex((one) => one.section === canonical(section) && holds(one));
  const set = last((one) => one.key === key && !one.more);
  const sample = last((one) => one.sample === key);
  const filled = sample >= 0 ? sample : last((one) => one.text.trim() !== "");
  const from = set >= 0 ? set : filled >= 0 ? filled + 1 : lines.length;
  const after = set < 0 ? from : lines.findIndex(({ more }, at) => at > set && !more);
  const head = textOf(lines.slice(0, from));
  const open = head !== "" && !/[\r\n]$/.test(head) ? end : "";
  const gap = lines.length === 0 || lines.at(-1)?.text.trim() === "" ? "" : end;
  const title = filled < 0 ? `${gap}[${section}]${end}` : "";
  const tail = textOf(after < 0 ? [] : lines.slice(after));
  return `${head}${open}${title}${lineOf(edit)}${end}${tail}`;
}

function textOf(lines: readonly Line[]): string {
  return lines.map(({ text }) => text).join("");
}
