import { MigrationError } from "../../model/error.ts";
import {
  type BatchEntry,
  type Entry,
  JOURNAL_FORMAT,
  type MachineEntry,
  type OpenEntry,
} from "../../model/journal.ts";
import { isObject, type JsonObject } from "../../model/json.ts";
import { type Fields, fields, malformed } from "./entry-fields.ts";

/**
 * A journal line as an entry, every field looked at.
 *
 * @param place of the line, for the message
 * @throws MigrationError N2I-E113 for another format, N2I-E112 for anything else
 */
export function parseEntry(line: JsonObject, place: string): Entry {
  if (line.do === "open") return parseOpen(line, place);
  const { text } = fields(line, place);
  if (line.do === "close")
    return { do: line.do, plan: text("plan"), at: text("at"), by: text("by") };
  if (line.do === "reopen") return { do: line.do, at: text("at"), by: text("by") };
  if (line.do === "target") {
    const target = object(line, "target", place);
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
  const { text } = fields(line, place);
  const about = () => ({ part, id: text("id"), at: text("at") });
  switch (line.do) {
    case "start": {
      const observed = line.observed !== undefined && { observed: object(line, "observed", place) };
      return { do: line.do, ...about(), by: text("by"), ...observed };
    }
    case "end":
      return { do: line.do, ...about() };
    case "return":
      return { do: line.do, ...about(), by: text("by") };
    case "returned": {
      const left = line.left !== undefined && { left: object(line, "left", place) };
      return { do: line.do, ...about(), ...left };
    }
    default:
      return null;
  }
}

function object(line: JsonObject, name: string, place: string): JsonObject {
  const value = line[name];
  if (!isObject(value)) throw malformed(place, name);
  return value;
}

function span({ number }: Fields, place: string): { from: number; to: number } {
  const [from, to] = [number("from"), number("to")];
  if (from > to) throw malformed(place, "to");
  return { from, to };
}
