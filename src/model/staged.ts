import type { Json } from "./json.ts";
import type { Row } from "./machine.ts";

/**
 * Why a machine that was loaded for a later hand-over is in maintenance, in which no conductor
 * touches it. The text is how its row is told from one an operator put there: never change it.
 *
 * @source facts/ironic.md 1.5, safe staging
 */
export const STAGED = "nova2ironic: staged; nova2ironic release hands it over";

/** The row as a staged load writes it; one the plan loads in maintenance stays as it is. */
export function staged(row: Row): Row {
  return row.maintenance === false
    ? { ...row, maintenance: true, maintenance_reason: STAGED }
    : row;
}

/** Whether a planned row is there in our maintenance: that makes it no other row. */
export function isStaged(planned: Row, found: Row): boolean {
  return planned.maintenance === false && isOurs(found.maintenance, found.maintenance_reason);
}

/** Whether maintenance is ours to clear. */
export function isOurs(maintenance: Json | undefined, reason: Json | undefined): boolean {
  return maintenance === true && reason === STAGED;
}
