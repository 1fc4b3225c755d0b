import { PATIENCE, type Patience } from "../systems/database/limit.ts";
import { surroundings } from "./process-context.ts";

/** Milliseconds a statement may take without an answer. */
let { limit } = PATIENCE;

export function setDatabaseTimeout(seconds: number): void {
  limit = seconds * 1000;
}

/** How long every database is waited for. */
export function patience(): Patience {
  return { limit, tell: surroundings().tell };
}
