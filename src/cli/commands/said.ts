import { MigrationError } from "../../lib/error.ts";
import { kebab } from "../../run/next.ts";
import { io } from "../io.ts";

/**
 * Refuses options on the command line that this kind of run does not use.
 *
 * @param what the command: `host move`
 * @throws MigrationError N2I-E100
 */
export function refuseOptions(what: string, names: readonly string[]): void {
  for (const word of io().words) {
    const [, said = ""] = /^--([\w-]+)/.exec(word) ?? [];
    if (names.includes(kebab(said)))
      throw new MigrationError("N2I-E100", `${what} has no option --${said}`);
  }
}

/** Options for machines of nova-baremetal alone, and for those of Ironic alone. */
const LEGACY = ["tftp-root", "tftp-from", "root-uuid", "my-ip"];
const IRONIC = ["ironic-db", "ironic-url"];

/** Refuses options of the other kind of machines. @throws MigrationError N2I-E100 */
export function checkMode(action: string, legacy: boolean): void {
  const what = legacy
    ? `host ${action} for machines of nova-baremetal (--nova-bm-db)`
    : `host ${action} without --nova-bm-db, for machines of Ironic,`;
  refuseOptions(what, legacy ? IRONIC : LEGACY);
}
