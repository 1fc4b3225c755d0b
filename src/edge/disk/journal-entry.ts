import { MigrationError } from "../../model/error.ts";
import { FINISH, type FinishEntry } from "../../model/finish.ts";
import { HAND_OVER, type HandoverEntry } from "../../model/handover.ts";
import {
  type BatchEntry,
  type Entry,
  JOURNAL_FORMAT,
  type OpenEntry,
} from "../../model/journal.ts";
import { isObject, type JsonObject } from "../../model/json.ts";
import { BOOT_FILES } from "../../model/staging.ts";
import { parseBoot } from "./boot-entry.ts";
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
  if (line.do === "target") {
    if (!isObject(line.target)) throw malformed(place, "target");
    const staged = line.staged === true && { staged: true as const };
    return { do: line.do, system: text("system"), target: line.target, ...staged, at: text("at") };
  }
  const part = text("part");
  switch (part) {
    case HAND_OVER:
      return parseHandover(line, place);
    case FINISH:
      return parseFinish(line, place);
    case BOOT_FILES:
      return parseBoot(line, place);
    default:
      return parseBatch(line, part, place);
  }
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

function parseHandover(line: JsonObject, place: string): HandoverEntry {
  const { text } = fields(line, place);
  if (line.do !== "release" && line.do !== "stage") throw malformed(place, "do");
  return { part: HAND_OVER, do: line.do, node: text("node"), at: text("at"), by: text("by") };
}

function parseFinish(line: JsonObject, place: string): FinishEntry {
  const { text, texts } = fields(line, place);
  const part = FINISH;
  const when = () => ({ at: text("at"), by: text("by") });
  switch (line.do) {
    case "unguard":
      return { part, do: line.do, node: text("node"), fields: texts("fields"), ...when() };
    case "guard":
      return { part, do: line.do, node: text("node"), ...when() };
    case "reopen":
      return { part, do: line.do, ...when() };
    case "end":
      return { part, do: line.do, plan: text("plan"), ...when() };
    default:
      throw malformed(place, "do");
  }
}

function span({ number }: Fields, place: string): { from: number; to: number } {
  const [from, to] = [number("from"), number("to")];
  if (from > to) throw malformed(place, "to");
  return { from, to };
}
