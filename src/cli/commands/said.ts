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
