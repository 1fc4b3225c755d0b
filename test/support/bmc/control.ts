import type { OtherCommand } from "./bmc.ts";
import type { Farm } from "./farm.ts";
import type { BmcOptions } from "./options.ts";

/** One line to the farm's process; its answer is `{"ok": result}` or `{"error": message}`. */
export type Control =
  | { readonly do: "change"; readonly address: string; readonly options: Partial<BmcOptions> }
  | { readonly do: "commands" };

/** Type of the result by what is to be done. */
export interface Result {
  readonly change: null;
  readonly commands: readonly OtherCommand[];
}

/** Does what one line says, and gives the line to answer. */
export function reply(farm: Farm, line: string): string {
  try {
    // Lines come from this package's own process.ts.
    return JSON.stringify({ ok: perform(farm, JSON.parse(line) as Control) });
  } catch (error) {
    return JSON.stringify({ error: error instanceof Error ? error.message : String(error) });
  }
}

function perform(farm: Farm, control: Control): Result[Control["do"]] {
  switch (control.do) {
    case "change":
      farm.change(control.address, control.options);
      return null;
    case "commands":
      return farm.commands();
  }
}
