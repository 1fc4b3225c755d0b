import { MigrationError } from "../../model/error.ts";
import {
  type BatchEntry,
  type Entry,
  JOURNAL_FORMAT,
  type MachineEntry,
  type OpenEntry,
} from "../../model/journal.ts";
import { isObject, type Json, type JsonObject } from "../../model/json.ts";

/**
 * A journal line as an entry, every field looked at.
 *
 * @param place of the line, for the message
 * @throws MigrationError N2I-E113 for another format, N2I-E112 for anything else
 */
export function parseEntry(line: JsonObject, place: string): Entry {
  if (line.do === "open") return parseOpen(line, place);
  const { text, object } = fields(line, place);
  if (line.do === "close")
    return { do: line.do, plan: text("plan"), at: text("at"), by: text("by") };
  if (line.do === "reopen") return { do: line.do, at: text("at"), by: text("by") };
  if (line.do === "target") {
    const target = object("target");
    const staged = line.staged === true && { staged: true as const };
    return { do: line.do, system: text("system"), target, ...staged, at: text("at") };
  }
  const part = text("part");
  return parseMachine(line, part, place) ?? parseBatch(line, part, place);
}

/** The first entry; a run of the form before this one is ended with the version that began it. */
function parseOpen(line: JsonObject, place: string): OpenEntry {
  if (line.format !== JOURNAL_FORMAT)
    throw new MigrationError("N2I-E113", `${place} is not of ${JOURNAL_FORMAT}`, {
      fix: "End the run with the version that began it: it was made by another one.",
    });
  return { do: "open", format: line.format, tool: fields(line, place).text("tool") };
}

function parseBatch(line: JsonObject, part: string, place: string): BatchEntry {
  const of = fields(line, place);
  const { text, texts, number } = of;
  const about = () => ({ part, plan: text("plan"), ...span(of, place), at: text("at") });
  switch (line.do) {
    case "begin":
      return {
        ...{ do: line.do, ...about(), by: text("by") },
        ...(line.staged === true && { staged: true as const }),
      };
    case "observed":
      return { do: line.do, ...about(), found: texts("found"), taken: texts("taken") };
    case "done": {
      const counts = { created: number("created"), found: texts("found") };
      const failed = line.failed !== undefined && { failed: texts("failed") };
      return { do: line.do, ...about(), ...counts, ...failed };
    }
    case "aborted":
      return {
        ...{ do: line.do, ...about(), why: text("why") },
        ...(line.rows !== undefined && { rows: texts("rows") }),
        ...(line.machines !== undefined && { machines: texts("machines") }),
      };
    case "undo":
      return {
        ...{ do: line.do, ...about(), by: text("by") },
        nodes: line.nodes === "all" ? "all" : texts("nodes"),
      };
    case "undone": {
      const counts = { removed: number("removed"), gone: number("gone") };
      const rows = { settled: texts("settled"), conflicts: texts("conflicts") };
      return { do: line.do, ...about(), ...counts, ...rows };
    }
    default:
      throw malformed(place, "do");
  }
}

/** Null for an entry of another kind. */
function parseMachine(line: JsonObject, part: string, place: string): MachineEntry | null {
  const { text, object } = fields(line, place);
  const about = () => ({ part, id: text("id"), at: text("at") });
  switch (line.do) {
    case "start": {
      const observed = line.observed !== undefined && { observed: object("observed") };
      return { do: line.do, ...about(), by: text("by"), ...observed };
    }
    case "end":
      return { do: line.do, ...about() };
    case "return":
      return { do: line.do, ...about(), by: text("by") };
    case "returned": {
      const left = line.left !== undefined && { left: object("left") };
      return { do: line.do, ...about(), ...left };
    }
    default:
      return null;
  }
}

/** Fields of a journal line, each looked at as it is taken. */
interface Fields {
  readonly text: (name: string) => string;
  readonly texts: (name: string) => readonly string[];
  /** A whole number, not negative. */
  readonly number: (name: string) => number;
  readonly object: (name: string) => JsonObject;
}

export function fields(line: JsonObject, place: string): Fields {
  const field =
    <T extends Json>(is: (value: unknown) => value is T) =>
    (name: string): T => {
      const value = line[name];
      if (is(value)) return value;
      throw malformed(place, name);
    };
  return {
    text: field(isText),
    texts: field(
      (value): value is readonly string[] => Array.isArray(value) && value.every(isText),
    ),
    number: field((value): value is number => Number.isSafeInteger(value) && Number(value) >= 0),
    object: field(isObject),
  };
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function span({ number }: Fields, place: string): { from: number; to: number } {
  const [from, to] = [number("from"), number("to")];
  if (from > to) throw malformed(place, "to");
  return { from, to };
}

export function malformed(place: string, field: string): MigrationError {
  return journalFault(place, `has no ${field} as the journal writes it`);
}

/**
 * N2I-E112 of a journal, whose lines hang together and which no stage writes anew.
 *
 * @param place its path, and the line where one is to be named
 */
export function journalFault(place: string, fact: string): MigrationError {
  return new MigrationError("N2I-E112", `${place} ${fact}`, {
    why: "Each line of a journal holds a digest of the one before it: here a line was changed, taken out or put in.",
    fix: "Put the journal back from a copy; without one, run verify before anything is undone.",
  });
}
