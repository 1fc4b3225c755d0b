import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { BESIDE, CALLED, camel, ROADS, TARGET } from "../stages/next.ts";
import { type Connection, surroundings } from "../stages/surroundings.ts";
import { io } from "./io.ts";
import type { Declared, OptionTable } from "./options/declared.ts";
import { aside } from "./print/events.ts";

const NAME = "nova2ironic.yaml";
const VARIABLE = "NOVA2IRONIC_CONFIG";

/** Commands to which Nova's databases, or a login beside Ironic's, mean something else than to those that act. */
const NOTHING_FOR: readonly string[] = ["config", "status"];
/** Ironic's API, and how it is spoken with. */
const CLOUD: readonly string[] = TARGET.filter((option) => option !== "ironic-db");

/** What a command is about to be given, by yargs' names. */
type Args = { [name: string]: unknown };

/** Gives a command what nova2ironic.yaml says, where its command line is silent; nothing to wait for without one. */
export function addConnections(args: Args, declared: Declared): Promise<void> | undefined {
  // What has no run has no connections either.
  const path = "run" in (declared.options ?? {}) ? fileOf(args) : null;
  return path === null ? undefined : addFrom(path, args, declared);
}

async function addFrom(
  path: string,
  args: Args,
  { command, options = {} }: Declared,
): Promise<void> {
  const [name = ""] = command.split(" ");
  // Loaded where there is such a file.
  const { readConnections } = await import("../stages/connections.ts");
  const connections = readConnections(path);
  for (const [option, value] of connections) surroundings().connections.set(option, value);
  // Whoever copies the next command may stand in another folder.
  surroundings().connections.set("config", path);
  const wants = wanted(args, name, connections);
  const found = Object.entries(options).flatMap(([option, is]) => {
    const value = connections.get(CALLED[name]?.[option] ?? option);
    return value === undefined || args[option] !== undefined || !wants(option)
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
  if (named !== undefined) return named === "" ? null : resolve(cwd(), named);
  const here = resolve(cwd(), NAME);
  return existsSync(here) ? here : null;
}

/** Which options of a command the file may fill: what is said as a whole is said by one of the two. */
function wanted(
  args: Args,
  command: string,
  connections: ReadonlyMap<string, Connection>,
): (option: string) => boolean {
  const isSaid = (name: string): boolean => args[name] !== undefined && args[name] !== false;
  // To check a cloud is no other way to Ironic: it asks policy and images there.
  const elsewhere = command !== "check" && ROADS.some(isSaid);
  const rows = connections.has("ironic-db") && !elsewhere;
  const flavors = args["flavors-via"] ?? connections.get("flavors-via");
  const alone = isSaid("leave-nova") || args.takeover === true || BESIDE.some(isSaid);
  const asks = command === "check" || (flavors === "rest" && !alone);
  return (option) => {
    if (option === "run") return true;
    if (NOTHING_FOR.includes(command)) return false;
    if (option === "conductor-log") return command !== "verify" || args.takeover === true;
    if (option === "placement-db" && command === "plan") return isSaid("propose-site");
    if (option === "placement-db" && !connections.has("nova-db")) return false;
    if ([...BESIDE, "compute-host"].includes(option)) return !alone;
    if (CLOUD.includes(option)) return !elsewhere && (!rows || asks);
    return !(elsewhere && option === "ironic-db");
  };
}

/** One word or several, as the option takes them. */
function asDeclared({ array }: OptionTable[string], value: Connection): Connection {
  return array === true && !Array.isArray(value) ? [String(value)] : value;
}
