import { MigrationError } from "../../model/error.ts";
import type { ConductorIpmitool } from "../../model/power.ts";

/**
 * How a version of ipmitool chooses its cipher suite; undefined where none is named.
 *
 * @throws MigrationError N2I-E100 for what is no version
 */
export function ipmitoolOf(version: string | undefined): ConductorIpmitool | undefined {
  if (version === undefined) return undefined;
  const [, ...numbers] = /^(\d+)\.(\d+)\.(\d+)/.exec(version) ?? [];
  if (numbers.length === 0)
    throw new MigrationError(
      "N2I-E100",
      `--conductor-ipmitool is a version such as 1.8.19, not ${JSON.stringify(version)}`,
    );
  const [major = 0, minor = 0, patch = 0] = numbers.map(Number);
  const isNew = major - 1 || minor - 8 || patch - 19;
  return isNew >= 0 ? "1.8.19" : "1.8.18";
}
