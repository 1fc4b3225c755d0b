import { createHash } from "node:crypto";
import { isObject, type JsonObject, parsedJson } from "../../lib/json.ts";

/** Maximum bytes of a line without its newline, which a reader holds in memory. */
export const LONGEST_LINE = 16 * 1024 * 1024;
/** Maximum bytes of a footer line. */
export const LONGEST_FOOTER = 1024 * 1024;

const CHECK = 16;
const FORM = /^(\{"footer":\{.*\},"sha256":"([0-9a-f]{64})"),"check":"([0-9a-f]{16})"\}$/s;

/**
 * Last line of an artefact, without its newline. `sha256` covers the previous lines. `check`, the
 * beginning of a digest of the footer's text, protects the counts.
 */
export function footerLine(counts: object, sha256: string): string {
  const text = `{"footer":${JSON.stringify(counts)},"sha256":"${sha256}"`;
  return `${text},"check":"${checkOf(text)}"}`;
}

/** `edited` if its text does not match its digest. */
export function parseFooter(
  line: string,
): { readonly counts: JsonObject; readonly sha256: string } | "edited" | "absent" {
  const [, text, sha256, check] = FORM.exec(line) ?? [];
  if (text === undefined || sha256 === undefined)
    return line.startsWith('{"footer":') ? "edited" : "absent";
  const footer = checkOf(text) === check ? parseObject(`${text}}`) : null;
  const counts = footer?.footer;
  return isObject(counts) ? { counts, sha256 } : "edited";
}

/** Null if it is not a JSON object. */
export function parseObject(text: string): JsonObject | null {
  const value = parsedJson(text);
  return isObject(value) ? value : null;
}

function checkOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, CHECK);
}
