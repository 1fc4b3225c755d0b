import type { JournalEntry, ServerIdentity, TargetIdentity } from "../../model/artefact.ts";
import { MigrationError } from "../../model/error.ts";
import type { FinishEntry } from "../../model/finish.ts";
import type { ReleaseEntry } from "../../model/handover.ts";
import { isObject, type JsonObject } from "../../model/json.ts";
import type { NovaEntry } from "../../model/nova-plan.ts";
import { journalFault } from "./journal-fault.ts";

const DATABASES = ["mysql", "postgresql", "sqlite"] as const;

/**
 * A journal line as an entry, every field looked at.
 *
 * @param place of the line, for the message
 * @throws MigrationError N2I-E113 for another format, N2I-E112 for anything else
 */
export function parseEntry(line: JsonObject, place: string): JournalEntry {
  const { text, texts, number } = fields(line, place);
  const plan = () => ({ plan: text("plan"), ...span(number("from"), number("to"), place) });
  const doing = line.do;
  switch (doing) {
    case "open": {
      if (line.format !== "nova2ironic/journal@1") {
        throw new MigrationError("N2I-E113", `${place} is not of nova2ironic/journal@1`);
      }
      const target = parseTarget(line.target, place);
      return {
        ...{ do: doing, format: line.format, tool: text("tool"), target },
        ...(line.staged === true && { staged: true as const }),
      };
    }
    case "begin":
      return {
        ...{ do: doing, ...plan(), at: text("at"), by: text("by") },
        ...(line.staged === true && { staged: true as const }),
      };
    case "met": {
      const rows = { found: texts("found"), taken: texts("taken") };
      return { do: doing, ...plan(), at: text("at"), ...rows };
    }
    case "done": {
      const counts = { created: number("created"), found: texts("found") };
      const failed = line.failed !== undefined && { failed: texts("failed") };
      return { do: doing, ...plan(), at: text("at"), ...counts, ...failed };
    }
    case "void":
      return {
        ...{ do: doing, ...plan(), at: text("at"), why: text("why") },
        ...(line.rows !== undefined && { rows: texts("rows") }),
      };
    case "undo":
      return {
        ...{ do: doing, ...plan(), at: text("at"), by: text("by") },
        nodes: line.nodes === "all" ? "all" : texts("nodes"),
      };
    case "undone": {
      const counts = { removed: number("removed"), gone: number("gone") };
      const rows = { settled: texts("settled"), conflicts: texts("conflicts") };
      return { do: doing, ...plan(), at: text("at"), ...counts, ...rows };
    }
    default:
      throw malformed(place, "do");
  }
}

/**
 * A line of nova-journal.jsonl as an entry.
 *
 * @throws MigrationError N2I-E113 for another format, N2I-E112 for anything else
 */
export function parseNovaEntry(line: JsonObject, place: string): NovaEntry {
  if (line.do === "open") {
    if (line.format !== "nova2ironic/nova-journal@1")
      throw new MigrationError("N2I-E113", `${place} is not of nova2ironic/nova-journal@1`);
    const { text } = fields(line, place);
    if (!isObject(line.target)) throw malformed(place, "target");
    const schema_version = fields(line.target, `${place} target`).number("schema_version");
    const { head } = line.target;
    const target = {
      ...{ ...parseServer(line.target, place, DATABASES), schema_version },
      ...(typeof head === "string" && { head }),
    };
    return { do: line.do, format: line.format, tool: text("tool"), target };
  }
  const entry = parseEntry(line, place);
  if (entry.do === "open") throw malformed(place, "do");
  return entry;
}

/**
 * A line of release.jsonl as an entry.
 *
 * @throws MigrationError N2I-E113 for another format, N2I-E112 for anything else
 */
export function parseRelease(line: JsonObject, place: string): ReleaseEntry {
  const { text } = fields(line, place);
  switch (line.do) {
    case "open": {
      if (line.format !== "nova2ironic/release@1")
        throw new MigrationError("N2I-E113", `${place} is not of nova2ironic/release@1`);
      const target = parseTarget(line.target, place);
      return { do: line.do, format: line.format, tool: text("tool"), target };
    }
    case "release":
    case "stage":
      return { do: line.do, node: text("node"), at: text("at"), by: text("by") };
    default:
      throw malformed(place, "do");
  }
}

/**
 * A line of finish.jsonl as an entry.
 *
 * @throws MigrationError N2I-E113 for another format, N2I-E112 for anything else
 */
export function parseFinish(line: JsonObject, place: string): FinishEntry {
  const { text, texts } = fields(line, place);
  const when = () => ({ at: text("at"), by: text("by") });
  switch (line.do) {
    case "open": {
      if (line.format !== "nova2ironic/finish@1")
        throw new MigrationError("N2I-E113", `${place} is not of nova2ironic/finish@1`);
      const target = parseTarget(line.target, place);
      return { do: line.do, format: line.format, tool: text("tool"), target };
    }
    case "unguard":
      return { do: line.do, node: text("node"), fields: texts("fields"), ...when() };
    case "guard":
      return { do: line.do, node: text("node"), ...when() };
    case "reopen":
      return { do: line.do, ...when() };
    case "end":
      return { do: line.do, plan: text("plan"), ...when() };
    default:
      throw malformed(place, "do");
  }
}

function parseTarget(value: unknown, place: string): TargetIdentity {
  if (!isObject(value)) throw malformed(place, "target");
  const { text } = fields(value, `${place} target`);
  return {
    ...parseServer(value, place, [...DATABASES, "rest"]),
    alembic_head: text("alembic_head"),
    release: text("release"),
    charset: text("charset"),
  };
}

/** @param engines that may stand there */
function parseServer<Engine extends string>(
  value: JsonObject,
  place: string,
  engines: readonly Engine[],
): Omit<ServerIdentity, "engine"> & { readonly engine: Engine } {
  const { text } = fields(value, `${place} target`);
  const engine = engines.find((each) => each === value.engine);
  if (engine === undefined) throw malformed(place, "target.engine");
  return {
    engine,
    address: text("address"),
    database: text("database"),
    version: text("version"),
    server: text("server"),
  };
}

function span(from: number, to: number, place: string): { from: number; to: number } {
  if (from > to) throw malformed(place, "to");
  return { from, to };
}

export interface Fields {
  readonly text: (name: string) => string;
  readonly texts: (name: string) => readonly string[];
  /** A whole number, not negative. */
  readonly number: (name: string) => number;
}

export function fields(line: JsonObject, place: string): Fields {
  return {
    text(name) {
      const value = line[name];
      if (typeof value !== "string") throw malformed(place, name);
      return value;
    },
    texts(name) {
      const value = line[name];
      if (!Array.isArray(value)) throw malformed(place, name);
      return value.map((each: unknown) => {
        if (typeof each !== "string") throw malformed(place, name);
        return each;
      });
    },
    number(name) {
      const value = line[name];
      if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
        throw malformed(place, name);
      }
      return value;
    },
  };
}

export function malformed(place: string, field: string): MigrationError {
  return journalFault(place, `has no ${field} as the journal writes it`);
}
