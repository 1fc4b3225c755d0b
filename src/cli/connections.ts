import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { BACKENDS, BESIDE, CALLED, camel, NOTHING_FOR, PLACES, TARGET } from "../stages/next.ts";
import { type Connection, surroundings } from "../stages/surroundings.ts";
import { type Io, io } from "./io.ts";
import type { Declared, OptionTable } from "./options/declared.ts";
import { aside } from "./print/events.ts";

const NAME = "nova2ironic.yaml";
const VARIABLE = "NOVA2IRONIC_CONFIG";

/** Ironic's API, and how it is spoken with. */
const CLOUD: readonly string[] = TARGET.filter((option) => option !== "ironic-db");

/** What a command is about to be given, by yargs' names. */
type Args = { [name: string]: unknown };

/** A file of connections, and which options of the command it may fill. */
interface Layer {
  readonly file: string;
  readonly connections: ReadonlyMap<string, Connection>;
  readonly wants: (option: string) => boolean;
}

/**
 * Gives a command what nova2ironic.yaml says, and what its run keeps in connections.yaml, where its
 * command line is silent; nothing to wait for without either.
 */
export function addConnections(args: Args, declared: Declared): Promise<void> | undefined {
  // What has no run has no connections either.
  if (!("run" in (declared.options ?? {}))) return undefined;
  const path = fileOf(args);
  return path === null && keptAt(args) === null ? undefined : addFrom(path, args, declared);
}

async function addFrom(path: string | null, args: Args, declared: Declared): Promise<void> {
  const bare = !PLACES.some((name) => isSaid(args, name));
  if (path !== null) {
    // Loaded where there is such a file.
    const { readConnections } = await import("../stages/connections.ts");
    const connections = readConnections(path);
    for (const [option, value] of connections) surroundings().connections.set(option, value);
    // Whoever copies the next command may stand in another folder.
    surroundings().connections.set("config", path);
    const wants = wanted(args, declared, connections);
    const without = await notVerified(args, declared, connections);
    const layer = { file: path, connections };
    fill(args, declared, { ...layer, wants: (option) => wants(option) && !without(option) });
  }
  const run = keptAt(args);
  if (run === null) return;
  const { keptFile, plansNova, readKept } = await import("../stages/kept.ts");
  const connections = await readKept(run);
  surroundings().kept.set(run, connections);
  const wants = wantedOfRun(args, declared, connections, bare);
  const without = await withoutNova(args, declared, () => plansNova(run));
  const layer = { file: keptFile(run), connections };
  fill(args, declared, { ...layer, wants: (option) => wants(option) && !without(option) });
}

function fill(args: Args, { command, options = {} }: Declared, layer: Layer): void {
  const { file, connections, wants } = layer;
  const [name = ""] = command.split(" ");
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
  if (found.length === 0 || args.quiet === true || reported.get(io())?.has(file)) return;
  reported.set(io(), new Set([...(reported.get(io()) ?? []), file]));
  aside(`Connections: ${file}`);
}

/** Files that a command line has named: `run` has each of its stages read them. */
const reported = new WeakMap<Io, ReadonlySet<string>>();

/** Named on the command line, by a variable, or in this folder; null where there is none. */
function fileOf(args: Args): string | null {
  const { cwd, env } = io();
  const named = typeof args.config === "string" ? args.config : env[VARIABLE];
  if (named !== undefined) return named === "" ? null : resolve(cwd(), named);
  const here = resolve(cwd(), NAME);
  return existsSync(here) ? here : null;
}

/** The folder of a run that keeps connections; null where it does not, or none is named. */
function keptAt({ run }: Args): string | null {
  if (typeof run !== "string") return null;
  const folder = resolve(io().cwd(), run);
  return existsSync(join(folder, "connections.yaml")) ? folder : null;
}

function isSaid(args: Args, name: string): boolean {
  return args[name] !== undefined && args[name] !== false;
}

/** What `--without` names; without nova's database, without all of Nova. */
function leftOut({ without }: Args): readonly string[] {
  const names = [without ?? []].flat().map(String);
  return names.includes("nova-db") ? [...names, ...BESIDE, "compute-host"] : names;
}

/** Which options of a command a file may fill: what is said as a whole is said by one of the two. */
function wanted(
  args: Args,
  { command: declared }: Declared,
  connections: ReadonlyMap<string, Connection>,
): (option: string) => boolean {
  const [command = ""] = declared.split(" ");
  // To check a cloud is no other way to Ironic: it asks policy and images there.
  const elsewhere =
    command !== "check" && [...BACKENDS, "from-catalog"].some((name) => isSaid(args, name));
  const rows = connections.has("ironic-db") && !elsewhere;
  const flavors = args["flavors-via"] ?? connections.get("flavors-via");
  const alone =
    isSaid(args, "leave-nova") ||
    args.takeover === true ||
    BESIDE.some((name) => isSaid(args, name));
  const asks = command === "check" || (flavors === "rest" && !alone);
  const without = leftOut(args);
  return (option) => {
    if (option === "run") return true;
    if (command === "config" && option === "nova-db" && isSaid(args, "restarted")) return true;
    if (NOTHING_FOR.includes(command) || without.includes(option)) return false;
    if (option === "compute-log") return isSaid(args, "final");
    if (option === "conductor-log") return command !== "verify" || args.takeover === true;
    if (option === "placement-db" && command === "plan") return isSaid(args, "propose-site");
    if (option === "placement-db" && !connections.has("nova-db")) return false;
    if ([...BESIDE, "compute-host"].includes(option)) return !alone;
    if (CLOUD.includes(option)) return !elsewhere && (!rows || asks);
    return !(elsewhere && option === "ironic-db");
  };
}

/**
 * Which options a run may fill. What no command does without, it fills always; the rest only where no
 * database and no service is named: a line that names one is the operator's, and whole.
 *
 * @param bare the command line names none
 */
function wantedOfRun(
  args: Args,
  declared: Declared,
  connections: ReadonlyMap<string, Connection>,
  bare: boolean,
): (option: string) => boolean {
  const wants = wanted(args, declared, connections);
  // A rollback without Ironic takes back Nova's rows, when Ironic is gone.
  const needed = declared.command === "rollback" ? [] : TARGET;
  // A retire names nova_bm for its owner, which says nothing of Nova.
  const beside = declared.command === "retire" ? BESIDE : [];
  const always: readonly string[] = [...needed, ...beside, "nova-bm-db"];
  return (option) => option !== "run" && wants(option) && (bare || always.includes(option));
}

/** The file says where Nova is, and the plan says nothing of it: there is nothing to compare. */
async function notVerified(
  args: Args,
  { command }: Declared,
  connections: ReadonlyMap<string, Connection>,
): Promise<(option: string) => boolean> {
  const run = args.run ?? connections.get("run");
  const looks = command === "verify" && connections.has("nova-db") && args.takeover !== true;
  if (!looks || typeof run !== "string" || BESIDE.some((name) => isSaid(args, name)))
    return () => false;
  const { plansNova } = await import("../stages/kept.ts");
  if (await plansNova(resolve(io().cwd(), run))) return () => false;
  aside("The plan was made without Nova: verify does not look at it.");
  return (option) => BESIDE.includes(option);
}

/** A plan without Nova is applied and verified without. */
async function withoutNova(
  args: Args,
  { command }: Declared,
  plansNova: () => Promise<boolean>,
): Promise<(option: string) => boolean> {
  if (!["apply", "verify"].includes(command) || BESIDE.some((name) => isSaid(args, name)))
    return () => false;
  const without = !(await plansNova());
  return (option) => without && BESIDE.includes(option);
}

/** One word or several, as the option takes them. */
function asDeclared({ array }: OptionTable[string], value: Connection): Connection {
  return array === true && !Array.isArray(value) ? [String(value)] : value;
}
