import { type DatabaseTimeout, TIMEOUT } from "../systems/database/limit.ts";
import { processContext } from "./process-context.ts";

/** Milliseconds for a statement without an answer. */
let { limit } = TIMEOUT;

export function setDatabaseTimeout(seconds: number): void {
  limit = seconds * 1000;
}

/** Timeout of every database. */
export function databaseTimeout(): DatabaseTimeout {
  return { limit, report: processContext().report };
}
