import { MigrationError } from "../../model/error.ts";
import { type Assignment, parseOslo } from "./oslo-lines.ts";
import { substitution } from "./oslo-substitution.ts";
import { readSmallFile } from "./text-file.ts";

/** Bytes; nova's fully commented sample is a thirtieth of it. */
export const OSLO_FILE_LIMIT = 4 * 1024 * 1024;

export interface OsloFile {
  /** Path, as messages name it. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** What a service's configuration files say, as oslo.config reads them. */
export interface OsloConfig {
  /**
   * The value in force (the last one given), `$name` substituted; null when no file sets it.
   *
   * @throws MigrationError N2I-E104 when a substitution never ends
   */
  readonly get: (section: string, key: string) => string | null;
  /** Every value given, in order, as a MultiStrOpt has them. @throws as `get` */
  readonly all: (section: string, key: string) => readonly string[];
  /** `file:line` of the value in force; null when no file sets it. */
  readonly where: (section: string, key: string) => string | null;
}

/**
 * Reads files as `--config-file A --config-file B` does: later ones override.
 *
 * @param defaults values of `$name` that no file sets: `{ state_path: "/var/lib/nova" }`
 * @throws MigrationError N2I-E104 naming file and line
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
 * @throws MigrationError N2I-E104 naming file and line
 * @source oslo_config/iniparser.py and cfg.py, 1.2 to 9: sections are compared in lower case
 */
export function osloConfig(
  files: readonly OsloFile[],
  defaults: { readonly [name: string]: string } = {},
): OsloConfig {
  const found = new Map<string, Assignment[]>();
  for (const assignment of files.flatMap(({ name, bytes }) => parseOslo(name, bytes))) {
    const id = identity(assignment.section, assignment.key);
    const before = found.get(id);
    if (before === undefined) found.set(id, [assignment]);
    else before.push(assignment);
  }
  const given = new Map(
    Object.entries(defaults).map(([key, raw]): [string, Assignment] => [
      key,
      { section: "DEFAULT", key, raw, place: "the defaults" },
    ]),
  );
  const last = (section: string, key: string) => found.get(identity(section, key))?.at(-1);
  const substitute = substitution(
    (section, name) => last(section, name) ?? last("DEFAULT", name) ?? given.get(name),
    (message) => new MigrationError("N2I-E104", message),
  );
  return {
    get: (section, key) => {
      const assignment = last(section, key);
      return assignment === undefined ? null : substitute(assignment);
    },
    all: (section, key) => (found.get(identity(section, key)) ?? []).map(substitute),
    where: (section, key) => last(section, key)?.place ?? null,
  };
}

function identity(section: string, key: string): string {
  return `${section === "DEFAULT" ? section : section.toLowerCase()}]${key}`;
}
