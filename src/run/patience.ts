import { MigrationError } from "../lib/error.ts";
import { PATIENCE, type Patience } from "../systems/database/limit.ts";
import { surroundings } from "./process-context.ts";

/** Milliseconds a statement may take without an answer. */
let { limit } = PATIENCE;

/** @throws MigrationError N2I-E100 */
export function setDatabaseTimeout(seconds: number): void {
  if (seconds < 1) throw new MigrationError("N2I-E100", "--db-timeout is at least 1");
  limit = seconds * 1000;
}

/** How long every database is waited for. */
export function patience(): Patience {
  return { limit, tell: surroundings().tell };
}
