import type { MigrationError } from "../../model/error.ts";
import type { JsonObject } from "../../model/json.ts";
import { journalFault } from "./journal-fault.ts";

/** Fields of a journal line, each looked at as it is taken. */
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
