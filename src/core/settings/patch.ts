import { FILE_HEADERS_ONLY, formatPatch, type StructuredPatchHunk, structuredPatch } from "diff";
import { MigrationError } from "../../model/error.ts";
import { mayHoldSecret } from "../../model/secret.ts";
import { PLACEHOLDER } from "../../model/settings.ts";
import { type Edit, linesOf, withEdits } from "./edit.ts";

/** Lines of context, as `diff -u` has them. */
const CONTEXT = 3;
const MASKED = "(masked)";
/** An assignment of nothing, or of what stands for it. */
const EMPTY = new RegExp(`[=:]\\s*(?:${PLACEHOLDER})?\\s*$`);
const NO_END = "\\ No newline at end of file";

/**
 * A unified diff that brings these values into force; empty when nothing changes. Context that might
 * hold a secret is left out, so that the patch can be shown and applied all the same. Only where such
 * a line itself is replaced it is masked, and there the patch cannot be applied.
 *
 * @param name path of the file
 * @param text content, as UTF-8
 * @throws MigrationError N2I-E104 for lines that no patch knows as lines
 */
export function settingsPatch(name: string, text: string, edits: readonly Edit[]): string {
  if (withEdits(text, edits) === text) return "";
  if (/\r(?!\n)/.test(text))
    throw new MigrationError("N2I-E104", `${name}: lines end with a carriage return alone`, {
      fix: "No patch can be made of such a file: give its lines other ends first.",
    });
  // A last line without its end differs from the same line with it, and would be shown twice.
  const whole = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  const patch = structuredPatch(name, name, whole, withEdits(whole, edits), undefined, undefined, {
    context: CONTEXT,
  });
  const view = {
    hidden: hiddenLines(text),
    open: whole === text ? 0 : whole.split("\n").length - 1,
  };
  const hunks = patch.hunks.flatMap((hunk) => shown(hunk, view));
  return formatPatch({ ...patch, hunks }, FILE_HEADERS_ONLY);
}

/** Lines of the old file, from 1, that are not to be shown: they, or the value they go on with. */
function hiddenLines(text: string): ReadonlySet<number> {
  const hidden = new Set<number>();
  let before = false;
  for (const [at, { text: line, more }] of linesOf(text).entries()) {
    before = unfit(line) || (more && before);
    if (before) hidden.add(at + 1);
  }
  return hidden;
}

/** A secret, a login in an address, or what a terminal should not see. */
function unfit(line: string): boolean {
  if (line.startsWith("[")) return false;
  return mayHoldSecret(line) || /:\/\/[^/\s]*@|[^\P{C}\t\r\n]|\uFFFD/u.test(line);
}

/** What of the old file is shown. */
interface View {
  readonly hidden: ReadonlySet<number>;
  /** The last line, where it has no end; 0 where it has one. */
  readonly open: number;
}

/** A line of a hunk, with the remark on its end that may follow it. */
interface Entry {
  readonly line: string;
  readonly remark: readonly string[];
}

interface Part {
  readonly old: number;
  readonly now: number;
  readonly entries: Entry[];
}

/** A hunk without its hidden context: cut there into several, each with as much before as behind. */
function shown(
  { oldStart, newStart, lines }: StructuredPatchHunk,
  { hidden, open }: View,
): readonly StructuredPatchHunk[] {
  let part: Part = { old: oldStart, now: newStart, entries: [] };
  const parts = [part];
  let [old, now] = [oldStart, newStart];
  for (const line of lines) {
    if (line.startsWith(" ") && (hidden.has(old) || old === open)) {
      part = { old: old + 1, now: now + 1, entries: [] };
      parts.push(part);
    } else {
      const replaced = line.startsWith("-");
      const secret = replaced ? hidden.has(old) : line.startsWith("+") && unfit(line.slice(1));
      part.entries.push({
        line: secret && !EMPTY.test(line) ? `${line.slice(0, 1)}${MASKED}` : line,
        remark: replaced && old === open ? [NO_END] : [],
      });
    }
    if (!line.startsWith("+")) old += 1;
    if (!line.startsWith("-")) now += 1;
  }
  return parts.filter(({ entries }) => entries.some(isChange)).map(toHunk);
}

function isChange({ line }: Entry): boolean {
  return !line.startsWith(" ");
}

/** `patch` takes uneven context for the beginning or the end of the file, so both are cut to one length. */
function toHunk({ old, now, entries }: Part): StructuredPatchHunk {
  const [first, last] = [entries.findIndex(isChange), entries.findLastIndex(isChange)];
  const context = Math.min(first, entries.length - 1 - last);
  const kept = entries.slice(first - context, last + context + 1);
  const count = (sign: string): number => kept.filter(({ line }) => !line.startsWith(sign)).length;
  return {
    oldStart: old + first - context,
    newStart: now + first - context,
    oldLines: count("+"),
    newLines: count("-"),
    lines: kept.flatMap(({ line, remark }) => [line, ...remark]),
  };
}
