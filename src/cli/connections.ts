import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { CALLED, camel, NOVA, ROADS, TARGET } from "../stages/next.ts";
import { type Connection, surroundings } from "../stages/surroundings.ts";
import { io } from "./io.ts";
import type { Declared, OptionTable } from "./options/declared.ts";
import { aside } from "./print/events.ts";

const NAME = "nova2ironic.yaml";
const VARIABLE = "NOVA2IRONIC_CONFIG";

/** Words that say Ironic is somewhere else as a whole, or that Nova is left alone. */
const SAID_WHOLE: readonly (readonly [said: readonly string[], whole: readonly string[]])[] = [
  [ROADS, TARGET],
  [["leave-nova"], [...NOVA, "placement-db", "compute-host"]],
];

/** What a command is about to be given, by yargs' names. */
type Args = { [name: string]: unknown };

/** Gives a command what nova2ironic.yaml says, where its command line is silent. */
export async function addConnections(
  args: Args,
  { command, options = {} }: Declared,
): Promise<void> {
  // What has no run has no connections either.
  const path = "run" in options ? fileOf(args) : null;
  if (path === null) return;
  const [name = ""] = command.split(" ");
  // Loaded where there is such a file.
  const { readConnections } = await import("../stages/connections.ts");
  const connections = readConnections(path);
  for (const [option, value] of connections) surroundings().connections.set(option, value);
  // The next command finds it again where it was found, but for one that was named.
  if (typeof args.config === "string") surroundings().connections.set("config", path);
  const found = Object.entries(options).flatMap(([option, is]) => {
    const value = connections.get(CALLED[name]?.[option] ?? option);
    return value === undefined || !isWanted(args, name, option)
      ? []
      : [[option, asDeclared(is, value)] as const];
  });
  for (const [option, value] of found) {
    args[option] = value;
    args[camel(option)] = value;
  }
  if (found.length > 0 && args.quiet !== true) aside(`Connections: ${path}`);
}

/** Named on the command line, by a variable, or in this folder; null where there is none. */
function fileOf(args: Args): string | null {
  const { cwd, env } = io();
  const named = typeof args.config === "string" ? args.config : env[VARIABLE];
  if (named !== undefined && named !== "") return resolve(cwd(), named);
  const here = resolve(cwd(), NAME);
  return existsSync(here) ? here : null;
}

function isWanted(args: Args, command: string, option: string): boolean {
  const isSaid = (name: string): boolean => args[name] !== undefined && args[name] !== false;
  if (args[option] !== undefined) return false;
  if (option === "conductor-log" && command === "verify" && args.takeover !== true) return false;
  if (option === "placement-db" && command === "plan" && args["propose-site"] === undefined)
    return false;
  return !SAID_WHOLE.some(([said, whole]) => whole.includes(option) && said.some(isSaid));
}

/** One word or several, as the option takes them. */
function asDeclared({ array }: OptionTable[string], value: Connection): Connection {
  return array === true && !Array.isArray(value) ? [String(value)] : value;
}
