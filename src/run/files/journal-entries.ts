import { MigrationError } from "../../lib/error.ts";
import type { Json, JsonObject } from "../../lib/json.ts";
import {
  type Entry,
  FORMS,
  type Formed,
  IS,
  JOURNAL_FORMAT,
  type LineForm,
} from "../../model/journal.ts";

/** Precomputed, because a journal has hundreds of thousands of lines. */
const CHECKS = new Map(
  Object.entries(FORMS).map(([doing, form]): [Json, readonly Check[]] => [doing, checksOf(form)]),
);

type Check = readonly [name: string, is: (value: unknown) => boolean, mayMiss: boolean];

function checksOf(form: LineForm): readonly Check[] {
  return Object.entries(form).map(([name, kind]): Check => {
    // Without its `?`, it is the name of a type.
    return [name, IS[kind.replace("?", "") as keyof typeof IS], kind.endsWith("?")];
  });
}

/**
 * Parses a journal line and checks every field. A run with an older format must be ended with its
 * version.
 * @param location of the line, for the message
 * @throws MigrationError N2I-E113 for another format, else N2I-E112
 */
export function parseEntry(line: JsonObject, location: string): Entry {
  if (line.do === "open" && line.format !== JOURNAL_FORMAT)
    throw new MigrationError("N2I-E113", `${location} does not have the format ${JOURNAL_FORMAT}`, {
      fix: "Complete the run with the version of nova2ironic that started it.",
    });
  const form = CHECKS.get(line.do ?? null);
  if (form === undefined) throw malformed(location, "do");
  const entry: JsonObject = { do: line.do ?? null, ...checked(line, form, location) };
  if (Number(entry.from ?? 0) > Number(entry.to ?? 0)) throw malformed(location, "to");
  // Every field of its type was checked.
  return entry as unknown as Entry;
}

function checked(line: JsonObject, form: readonly Check[], location: string): JsonObject {
  const found: Record<string, Json> = {};
  for (const [name, is, mayMiss] of form) {
    const value = line[name];
    if (value === undefined && mayMiss) continue;
    if (value === undefined || !is(value)) throw malformed(location, name);
    found[name] = value;
  }
  return found;
}

/** The fields of a line that its form names. @throws MigrationError N2I-E112 */
export function formed<const F extends LineForm>(
  line: JsonObject,
  form: F,
  location: string,
): Formed<F> {
  // Each field was checked by its form.
  return checked(line, checksOf(form), location) as object as Formed<F>;
}

/** Fields of a line, checked on access. */
export function fields(line: JsonObject, location: string) {
  const field =
    <T>(is: (value: unknown) => value is T) =>
    (name: string): T => {
      const value: unknown = line[name];
      if (is(value)) return value;
      throw malformed(location, name);
    };
  const { text, texts, number, object } = IS;
  return { text: field(text), texts: field(texts), number: field(number), object: field(object) };
}

export function malformed(location: string, field: string): MigrationError {
  return journalFault(location, `has an invalid ${field}`);
}

/** The lines are chained, and no stage can write them again. @param location path and line */
export function journalFault(location: string, fact: string): MigrationError {
  return new MigrationError("N2I-E112", `${location} ${fact}`, {
    reason:
      "Each line of a journal has a digest of the previous line. A line was changed, removed or inserted.",
    fix: "Restore the journal from a copy. Without a copy, run verify before a rollback.",
  });
}
