import type { Json } from "./json.ts";

/**
 * How Ironic begins what it writes to `last_error` of a machine whose BMC did not answer or obey.
 *
 * @source ironic 21.4: conductor/manager.py handle_sync_power_state_max_retries_exceeded,
 *   conductor/utils.py node_power_action; icehouse and later have the first alike
 */
const POWER = /^(?:During sync_power_state,|Failed to (?:change|set|get) (?:the )?power state)/;

/**
 * Whether an error is of the power and over: Ironic reads the power again and clears the maintenance,
 * and leaves `last_error` as it was until somebody works with the machine.
 *
 * @param power_state what Ironic has recorded since
 */
export function isOldPowerError(last_error: string, power_state: Json | undefined): boolean {
  return POWER.test(last_error) && typeof power_state === "string" && power_state !== "error";
}
