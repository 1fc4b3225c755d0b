import { MigrationError } from "../../lib/error.ts";
import { kebab } from "../../run/next.ts";
import { io } from "../io.ts";

/** @param what the command: `host move` @throws MigrationError N2I-E100 */
export function refuseOptions(what: string, names: readonly string[]): void {
  for (const arg of io().argv) {
    const [, option = ""] = /^--([\w-]+)/.exec(arg) ?? [];
    if (names.includes(kebab(option)))
      throw new MigrationError("N2I-E100", `${what} has no option --${option}`);
  }
}

/** Options only for machines of nova-baremetal, and only for machines of Ironic. */
const LEGACY = ["tftp-root", "tftp-from", "root-uuid", "my-ip"];
const IRONIC = ["ironic-db", "ironic-url"];

export function checkMode(action: string, legacy: boolean): void {
  const what = legacy
    ? `host ${action} for machines of nova-baremetal (--nova-bm-db)`
    : `host ${action} without --nova-bm-db, for machines of Ironic,`;
  refuseOptions(what, legacy ? IRONIC : LEGACY);
}
