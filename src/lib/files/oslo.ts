import { isUtf8 } from "node:buffer";
import { MigrationError } from "../error.ts";
import { grouped } from "../grouped.ts";
import { readSmallFile } from "./text-file.ts";

/** Maximum bytes. Nova's fully commented sample has a thirtieth of this. */
export const OSLO_FILE_LIMIT = 4 * 1024 * 1024;

export interface OsloFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Configuration files of a service, as oslo.config reads them. */
export type OsloConfig = ReturnType<typeof osloConfig>;

/**
 * Reads files in the order of `--config-file A --config-file B`: later files override earlier ones.
 * @param defaults values of `$name` that no file sets: `{ state_path: "/var/lib/nova" }`
 * @throws MigrationError N2I-E104 with file and line
 */
export async function readOsloFiles(
  paths: readonly string[],
  defaults: { readonly [name: string]: string } = {},
): Promise<OsloConfig> {
  const files: OsloFile[] = [];
  for (const path of paths)
    files.push({ name: path, bytes: await readSmallFile(path, OSLO_FILE_LIMIT, "N2I-E104") });
  return osloConfig(files, defaults);
}

/**
 * Section names are not case-sensitive.
 * @throws MigrationError N2I-E104 with file and line
 * @source oslo_config/iniparser.py and cfg.py, 1.2 to 9
 */
export function osloConfig(
  files: readonly OsloFile[],
  defaults: { readonly [name: string]: string } = {},
) {
  const parsed = files.map(({ name, bytes }) => parseOslo(name, bytes));
  const assignments = parsed.flatMap((file) => file.assignments);
  const found = grouped(assignments, ({ section, key }) => identity(section, key));
  const sections = new Set(parsed.flatMap((file) => file.sections.map((name) => identity(name))));
  const fallbacks = new Map(
    Object.entries(defaults).map(([key, raw]): [string, Assignment] => [
      key,
      { section: "DEFAULT", key, raw, location: "the defaults" },
    ]),
  );
  const last = (section: string, key: string) => found.get(identity(section, key))?.at(-1);
  const substitute = substitution(
    (section, name) => last(section, name) ?? last("DEFAULT", name) ?? fallbacks.get(name),
  );
  return {
    /**
     * The effective (last) value with `$name` substituted. Null if no file sets it.
     * @throws MigrationError N2I-E104 if a substitution never ends
     */
    get: (section: string, key: string): string | null => {
      const assignment = last(section, key);
      return assignment === undefined ? null : substitute(assignment);
    },
    /** Every value in order, as for a MultiStrOpt. @throws as `get` */
    all: (section: string, key: string): readonly string[] =>
      (found.get(identity(section, key)) ?? []).map(substitute),
    /** Options set in the section, empty for an empty section. Null if no file has the section. */
    keys: (section: string): readonly string[] | null =>
      sections.has(identity(section))
        ? assignments
            .filter((one) => identity(one.section) === identity(section))
            .map(({ key }) => key)
        : null,
    /** `file:line` of the effective value. Null if no file sets it. */
    where: (section: string, key: string): string | null => last(section, key)?.location ?? null,
  };
}

function identity(section: string, key = ""): string {
  return `${section === "DEFAULT" ? section : section.toLowerCase()}]${key}`;
}

const TEMPLATE = /\$(?:(\$)|([_a-z][_a-z0-9]*)|\{([_a-z][_a-z0-9]*)\})/gi;

/**
 * Replaces `$name` and `${name}` in a value, and `$$` and `\$` by `$`. Unknown names stay. `%` is
 * not special. Each found value is substituted with names of its own section, and cached so that no
 * file makes this slow.
 * @source oslo_config/cfg.py, ConfigOpts._substitute and StrSubWrapper
 */
function substitution(
  find: (section: string, name: string) => Assignment | undefined,
): (assignment: Assignment) => string {
  const resolved = new Map<Assignment, string>();
  const value = (assignment: Assignment, trail: readonly Assignment[]): string => {
    const done = resolved.get(assignment);
    if (done !== undefined) return done;
    const { location, raw, section } = assignment;
    const path = [...trail, assignment];
    if (trail.includes(assignment)) {
      const circle = path.slice(trail.indexOf(assignment)).map(({ key }) => `$${key}`);
      throw refused(location, `${circle.join(" -> ")} refers to itself`);
    }
    const result = raw
      .replaceAll("\\$", "$$$$")
      .replace(TEMPLATE, (match: string, dollar?: string, plain?: string, braced?: string) => {
        if (dollar !== undefined) return "$";
        const found = find(section, plain ?? braced ?? "");
        return found === undefined ? match : value(found, path);
      });
    resolved.set(assignment, result);
    return result;
  };
  return (assignment) => value(assignment, []);
}

interface Assignment {
  readonly section: string;
  readonly key: string;
  /** Continuation lines are joined by a line feed. */
  readonly raw: string;
  /** `file:line`. */
  readonly location: string;
}

/**
 * Sections and assignments of one file, in order. Messages never quote a line, because it may
 * contain a password. Comments may have any encoding (old files use Latin-1). All else is UTF-8.
 * @throws MigrationError N2I-E104 with file and line
 * @source oslo_config/iniparser.py
 */
function parseOslo(file: string, bytes: Uint8Array) {
  const trusted = isUtf8(bytes);
  const text = new TextDecoder("utf-8").decode(bytes);
  const found: Assignment[] = [];
  const sections: string[] = [];
  let section: string | null = null;
  let open: { key: string; values: string[]; location: string; section: string } | null = null;
  const close = (): void => {
    if (open !== null) found.push({ ...open, raw: open.values.join("\n") });
    open = null;
  };
  for (const [index, full] of text.split(/\r\n|\n|\r/).entries()) {
    const location = `${file}:${index + 1}`;
    const line = full.trimEnd();
    const comment = line.startsWith("#") || line.startsWith(";");
    if (line.includes("\0")) throw refused(location, "a NUL character, so it is not a text file");
    if (!trusted && !comment && line.includes("\uFFFD"))
      throw refused(location, "this is not UTF-8");
    if (line.startsWith(" ") || line.startsWith("\t")) {
      if (open === null) throw refused(location, "an indented line without a value before it");
      open.values.push(line.trimStart());
      continue;
    }
    close();
    if (line === "" || comment) continue;
    if (line.startsWith("[")) {
      if (!line.endsWith("]")) throw refused(location, "a section that does not end with ]");
      if (line.length <= 2) throw refused(location, "a section without a name");
      section = line.slice(1, -1);
      sections.push(section);
      continue;
    }
    const { key, value } = split(line, location);
    if (section === null) throw refused(location, "a value before the first [section]");
    open = { key, values: [value], location, section };
  }
  close();
  return { assignments: found, sections };
}

function split(line: string, location: string): { readonly key: string; readonly value: string } {
  const at = line.search(/[=:]/);
  if (at < 0) throw refused(location, "neither a comment, a [section] nor key = value");
  const key = line.slice(0, at).trim();
  if (key === "") throw refused(location, "a value without a key");
  const value = line.slice(at + 1).trim();
  const quote = value.at(0);
  const isQuoted = (quote === '"' || quote === "'") && value.endsWith(quote);
  return { key, value: isQuoted ? value.slice(1, -1) : value };
}

function refused(location: string, fault: string): MigrationError {
  return new MigrationError("N2I-E104", `${location}: ${fault}`);
}
