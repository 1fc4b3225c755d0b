import { type StartedChange, startedChangesIn } from "../engine/started.ts";
import { MigrationError } from "../lib/error.ts";
import { isObject, type JsonObject } from "../lib/json.ts";
import { type Entries, targetOf } from "../model/journal.ts";
import { readJournal } from "../run/files/journal.ts";
import { fields } from "../run/files/journal-entries.ts";
import { openRun } from "../run/files/run-folder.ts";
import { nextCommand } from "../run/next.ts";
import {
  type ServerLocation,
  STEP_NAMES,
  SWITCH_STATES,
  SWITCHOVER,
  type SwitchedServer,
  type Switchover,
  type SwitchStepName,
} from "./rules/switching.ts";

/** @throws MigrationError N2I-E300 if the run uses another Ironic */
export function checkSwitchClients(entries: Entries, address: string): void {
  const began = addressIn(entries);
  if (began === null || began === address) return;
  throw new MigrationError(
    "N2I-E300",
    `this run has a switchover at ${began}, but the command uses ${address}`,
  );
}

function addressIn(entries: Entries): string | null {
  const target = targetOf(entries, SWITCHOVER);
  return target === undefined ? null : String(target.target.address);
}

export interface Switched {
  readonly plan: Switchover;
  /** Steps that were started and not rolled back. */
  readonly started: ReadonlyMap<SwitchStepName, StartedChange>;
}

/** Null if there is none, or it was rolled back. @throws MigrationError N2I-E112 */
export function switchedIn(entries: Entries): Switched | null {
  const reservations = startedChangesIn(entries, "switchover-hold");
  const [source, reservation] = [...reservations].at(-1) ?? [];
  const [first] = reservation?.observed ?? [];
  if (source === undefined || first === undefined) return null;
  const started = new Map(
    STEP_NAMES.flatMap((name) => {
      const one = startedChangesIn(entries, name).get(source);
      return one === undefined ? [] : [[name, one] as const];
    }),
  );
  return { plan: planIn(first), started };
}

/** @throws MigrationError N2I-E112 */
export function planIn(line: JsonObject): Switchover {
  const { text, texts } = fields(line, "journal, switchover");
  const orNone = (name: string): string | null => (line[name] === null ? null : text(name));
  return {
    ...{ id: text("id"), source: text("source"), destination: text("destination") },
    ...{ source_name: orNone("source_name"), destination_name: orNone("destination_name") },
    ...{ instance_uuid: text("instance_uuid"), failed_name: orNone("failed_name") },
    ...{ connectors: texts("connectors"), targets: texts("targets") },
    ...{ picked: line.picked === true, leave_nova: line.leave_nova === true },
    server: isObject(line.server) ? serverOf(line.server) : null,
  };
}

function serverOf(entry: JsonObject): SwitchedServer {
  const { text, number, object } = fields(entry, "journal, server");
  const { placement, stopped } = entry;
  const [from, to] = [locationIn(object("from")), locationIn(object("to"))];
  const flags = { placement: placement === true, stopped: stopped === true };
  return { id: number("id"), uuid: text("uuid"), from, to, ...flags };
}

function locationIn(entry: JsonObject): ServerLocation {
  const { text } = fields(entry, "journal, server");
  const { compute_id } = entry;
  const location = { node: text("node"), host: text("host") };
  if (compute_id === undefined) return location;
  return { ...location, compute_id: typeof compute_id === "number" ? compute_id : null };
}

/** The journal's records of a step, oldest first. */
export function recordsIn(
  entries: Entries,
  step: SwitchStepName,
  { source }: Switchover,
): readonly JsonObject[] {
  return startedChangesIn(entries, step).get(source)?.observed ?? [];
}

export function isPastReturn({ started }: Switched): boolean {
  return started.has("switchover-deploy");
}

export function stateOf({ started }: Switched) {
  const open = STEP_NAMES.find((name) => started.get(name)?.open === true);
  const ended = STEP_NAMES.findLast((name) => started.get(name)?.open === false);
  const state = ended === undefined ? "begun" : SWITCH_STATES[ended];
  const at = open === undefined ? null : SWITCH_STATES[open];
  return { state, at, isDone: state === "DONE" && at === null };
}

/** @throws MigrationError N2I-E110 to N2I-E113 */
export async function openSwitched(path: string) {
  const run = await openRun(path, { create: false });
  const { entries } = await readJournal(run);
  return { run, entries, switched: switchedIn(entries) };
}

export async function switchState(path: string) {
  const { run, entries, switched } = await openSwitched(path);
  const ironic = addressIn(entries) ?? "";
  const options = { run: run.path };
  if (switched === null)
    return {
      fields: { ironic, source: "", destination: "", state: "ROLLED_BACK or not started", at: "" },
      next: "nothing, because this run has no open changes",
      changed: 0,
    };
  const { plan, started } = switched;
  const { state, at, isDone } = stateOf(switched);
  // Without its marks, the run waits for another switchover, and must not start again.
  const again =
    started.get("switchover-hold")?.back === true
      ? nextCommand("rollback", options, { all: true })
      : nextCommand("node", options, {}, `switchover ${plan.source}`);
  return {
    fields: {
      ...{ ironic, source: labelOf(plan.source, plan.source_name) },
      ...{ destination: labelOf(plan.destination, plan.destination_name), state, at: at ?? "" },
    },
    next: isDone ? nextCommand("verify", options) : again,
    changed: isPastReturn(switched) ? 0 : started.size,
  };
}

/** A node with its uuid first, because names change. */
export function labelOf(uuid: string, name: string | null): string {
  return name === null ? uuid : `${uuid} (${name})`;
}
