import { MigrationError } from "../../model/error.ts";

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
