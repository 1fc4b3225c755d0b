/** An untrusted value for a message: quoted, escaped, at most 60 characters. */
export function show(value: string): string {
  const cut = value.length > 60 ? `${value.slice(0, 57)}...` : value;
  return JSON.stringify(cut);
}

export function showColumn(value: string | null): string {
  return value === null ? "NULL" : show(value);
}

/** Maximum number of objects that a message names. Further objects are counted. */
export const NAMES = 5;

/** All texts, or the first of them and their number. */
export type Several = Pick<readonly string[], "length" | "slice">;

/** Counts texts, but keeps only those that a message names. */
export function createSeveral(): Several & { readonly add: (text: string) => void } {
  const first: string[] = [];
  let length = 0;
  return {
    add(text) {
      length += 1;
      if (first.length < NAMES) first.push(text);
    },
    get length() {
      return length;
    },
    slice: (from, to) => first.slice(from, to),
  };
}

/** `1 machine`, `2 machines`. @param many the plural, if irregular */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** `a, b and 3 more`. */
export function listed(items: Several, most: number, between = ", "): string {
  const more = items.length > most ? ` and ${items.length - most} more` : "";
  return `${items.slice(0, most).join(between)}${more}`;
}

/** Characters that move a terminal's cursor, change its colours or reverse its direction. */
export const UNSEEN = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/gu;

/**
 * Quotes a word for a POSIX shell. Control characters, which a pasted word would execute, become
 * octal.
 */
export function shellArgument(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  // $() removes trailing line breaks, so they are appended.
  const [, body = "", breaks = ""] = /^(.*?)(\n*)$/s.exec(text) ?? [];
  if (body.search(UNSEEN) === -1) return `'${quoted(text)}'`;
  const form = body.replaceAll("\\", "\\\\").replaceAll("%", "%%").replaceAll(/^-|!/g, octal);
  const end = breaks === "" ? "" : `'${breaks}'`;
  return `"$(printf '${quoted(form.replace(UNSEEN, octal))}')"${end}`;
}

function quoted(text: string): string {
  return text.replaceAll("'", `'\\''`);
}

function octal(text: string): string {
  const bytes = [...Buffer.from(text)];
  return bytes.map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
}

/** `[HOST=]PATH`, "*" without a host. A host name has no slash, so `./a=b` is a path. */
export function hostSpec(spec: string): { readonly host: string; readonly path: string } {
  const [, host, path] = /^([^=/]*)=(.*)$/s.exec(spec) ?? [];
  return path === undefined ? { host: "*", path: spec } : { host: host?.trim() ?? "", path };
}

/** `45 s`, `12 min`, `16 h 40 min`. */
export function duration(seconds: number): string {
  if (seconds < 90) return seconds < 1 ? "under 1 s" : `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const rest = minutes % 60;
  return `${Math.floor(minutes / 60)} h${rest > 0 ? ` ${rest} min` : ""}`;
}
