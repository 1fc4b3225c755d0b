import { BOOT } from "./findings/boot.ts";
import { CONFIG } from "./findings/config.ts";
import { IRONIC } from "./findings/ironic.ts";
import { LEGACY_MOVES, MOVES } from "./findings/moves.ts";
import { NOVA } from "./findings/nova.ts";
import { POWER } from "./findings/power.ts";
import { RECORD } from "./findings/record.ts";
import { ROWS } from "./findings/rows.ts";
import { TENANT } from "./findings/tenant.ts";
import { UPGRADE } from "./findings/upgrade.ts";

export type { FindingKind, Severity } from "./findings/kind.ts";

/**
 * Every possible problem in the data. Codes are never reused.
 * @source facts/nova-bm.md 1.5-1.11, 2.3-2.4, 3, 5.5; facts/ironic.md 0-3; facts/ipmi.md 6.8
 */
export const FINDINGS = {
  ...ROWS,
  ...TENANT,
  ...NOVA,
  ...UPGRADE,
  ...MOVES,
  ...LEGACY_MOVES,
  ...CONFIG,
  ...RECORD,
  ...IRONIC,
  ...POWER,
  ...BOOT,
};

export type FindingCode = keyof typeof FINDINGS;
