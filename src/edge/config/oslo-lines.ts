import { isUtf8 } from "node:buffer";
import { MigrationError } from "../../model/error.ts";

/** One `key = value` of a file, not substituted yet. */
export interface Assignment {
  readonly section: string;
  readonly key: string;
  /** Lines of a continued value are joined by a line feed. */
  readonly raw: string;
  /** `file:line` it begins at. */
  readonly place: string;
}

/**
 * The assignments of one file, in order. Messages never quote a line: it may hold a password.
 *
 * Comments may be in any encoding (old files have them in Latin-1), everything else is UTF-8.
 *
 * @throws MigrationError N2I-E104 naming file and line
 * @source oslo_config/iniparser.py
 */
export function parseOslo(file: string, bytes: Uint8Array): readonly Assignment[] {
  const trusted = isUtf8(bytes);
  const text = new TextDecoder("utf-8").decode(bytes);
  const found: Assignment[] = [];
  let section: string | null = null;
  let open: { key: string; values: string[]; place: string; section: string } | null = null;
  const close = (): void => {
    if (open !== null) found.push({ ...open, raw: open.values.join("\n") });
    open = null;
  };
  for (const [index, full] of text.split(/\r\n|\n|\r/).entries()) {
    const place = `${file}:${index + 1}`;
    const line = full.trimEnd();
    const comment = line.startsWith("#") || line.startsWith(";");
    if (line.includes("\0")) throw refused(place, "a NUL character: this is no text file");
    if (!trusted && !comment && line.includes("\uFFFD")) throw refused(place, "this is not UTF-8");
    if (line.startsWith(" ") || line.startsWith("\t")) {
      if (open === null) throw refused(place, "an indented line that continues no value");
      open.values.push(line.trimStart());
      continue;
    }
    close();
    if (line === "" || comment) continue;
    if (line.startsWith("[")) {
      section = sectionName(line, place);
      continue;
    }
    const { key, value } = split(line, place);
    if (section === null) throw refused(place, "a value before the first [section]");
    open = { key, values: [value], place, section };
  }
  close();
  return found;
}

function sectionName(line: string, place: string): string {
  if (!line.endsWith("]")) throw refused(place, "a section that does not end with ]");
  if (line.length <= 2) throw refused(place, "a section without a name");
  return line.slice(1, -1);
}

function split(line: string, place: string): { readonly key: string; readonly value: string } {
  const at = line.search(/[=:]/);
  if (at < 0) throw refused(place, "neither a comment, a [section] nor key = value");
  const key = line.slice(0, at).trim();
  if (key === "") throw refused(place, "a value without a key");
  return { key, value: unquoted(line.slice(at + 1).trim()) };
}

function unquoted(value: string): string {
  const quote = value.at(0);
  return (quote === '"' || quote === "'") && value.endsWith(quote) ? value.slice(1, -1) : value;
}

function refused(place: string, what: string): MigrationError {
  return new MigrationError("N2I-E104", `${place}: ${what}`);
}
