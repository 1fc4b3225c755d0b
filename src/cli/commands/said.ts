import { MigrationError } from "../../lib/error.ts";
import { kebab } from "../../run/next.ts";
import { io } from "../io.ts";
import { everyCommand } from "../options/every.ts";

/**
 * Refuses options that stand on the command line and that this one has no use for.
 *
 * @param what `host move`
 * @throws MigrationError N2I-E100
 */
export function onlyOptions(what: string, options: object): void {
  const own = [...Object.keys(options), ...Object.keys(everyCommand), "help", "version"];
  for (const said of saidOptions()) if (!own.includes(kebab(said))) throw hasNone(what, said);
}

/** The same of one option, which other runs of the command have a use for. @throws MigrationError N2I-E100 */
export function notOption(what: string, name: string): void {
  for (const said of saidOptions()) if (kebab(said) === name) throw hasNone(what, said);
}

function saidOptions(): readonly string[] {
  return io().words.flatMap((word) => {
    const [, said = ""] = /^--([\w-]+)/.exec(word) ?? [];
    return said.length > 1 ? [said] : [];
  });
}

function hasNone(what: string, said: string): MigrationError {
  return new MigrationError("N2I-E100", `${what} has no option --${said}`);
}

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
