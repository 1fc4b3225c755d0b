import { notOption } from "../said.ts";

/** What only machines of nova-baremetal have a use for, and what only those of Ironic. */
const LEGACY = ["tftp-root", "tftp-from", "root-uuid", "my-ip"];
const IRONIC = ["ironic-db", "ironic-url"];

/**
 * Refuses options of the other kind of machines: nobody is to believe that they were heard.
 *
 * @throws MigrationError N2I-E100
 */
export function checkMode(action: string, legacy: boolean): void {
  const what = legacy
    ? `host ${action} for machines of nova-baremetal (--nova-bm-db)`
    : `host ${action} without --nova-bm-db, for machines of Ironic,`;
  for (const name of legacy ? IRONIC : LEGACY) notOption(what, name);
}
