import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type StartedChange, startedChangesIn } from "../engine/started.ts";
import { MigrationError } from "../lib/error.ts";
import { isObject, type Json, type JsonObject, objectOf } from "../lib/json.ts";
import { isUuid } from "../lib/uuid.ts";
import { type Entries, targetOf } from "../model/journal.ts";
import { readJournal } from "../run/files/journal.ts";
import { formed } from "../run/files/journal-entries.ts";
import { openRun, type RunFolder, readNote, writeNote } from "../run/files/run-folder.ts";
import { checkKind, markKind } from "../run/files/run-kind.ts";
import { nextCommand } from "../run/next.ts";
import {
  type ServerLocation,
  STEP_NAMES,
  SWITCH_STATES,
  SWITCHOVER,
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

const PLAN = {
  ...({ id: "text", source: "text", destination: "text", instance_uuid: "text" } as const),
  ...({ source_name: "textOrNull", destination_name: "textOrNull" } as const),
  ...({ failed_name: "textOrNull", connectors: "texts", targets: "texts" } as const),
  ...({ picked: "boolean", leave_nova: "boolean", server: "json" } as const),
} as const;

const SERVER = {
  ...({ id: "number", uuid: "text", from: "object", to: "object" } as const),
  ...({ placement: "boolean", stopped: "boolean" } as const),
} as const;

/** @throws MigrationError N2I-E112 */
function planIn(line: JsonObject): Switchover {
  const { server, ...plan } = formed(line, PLAN, "journal, switchover");
  if (!isObject(server)) return { ...plan, server: null };
  const { from, to, ...rest } = formed(server, SERVER, "journal, server");
  return { ...plan, server: { ...rest, from: locationIn(from), to: locationIn(to) } };
}

function locationIn(entry: JsonObject): ServerLocation {
  const form = { node: "text", host: "text", compute_id: "json?" } as const;
  const { compute_id: id, ...location } = formed(entry, form, "journal, server");
  return id === undefined ? location : { ...location, compute_id: id === null ? null : Number(id) };
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

function stateOf({ started }: Switched) {
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

/** The accepted request and its user. */
const NOTE = "switchover.json";
const FORMAT = "nova2ironic/switchover@1";
/** The reason why an unfinished switchover was closed. */
const OUTCOME = "outcome.json";

/** A switchover that was answered with 202, and its run. */
export interface Accepted {
  readonly run: RunFolder;
  readonly plan: Switchover;
  /** Differs from the plan if a command rolled it back and started again. */
  readonly target: string;
  /** ISO 8601, UTC. */
  readonly created_at: string;
}

/**
 * Creates the run, which any command accepts.
 *
 * @param state the folder of all runs
 * @param user of the request, for the note
 * @throws MigrationError N2I-E110, N2I-E120
 */
export async function writeAccepted(
  state: string,
  plan: Switchover,
  user: JsonObject,
  created_at: string,
): Promise<Accepted> {
  const run = await openRun(join(state, plan.id), { create: true });
  await markKind(run, { kind: "switchover" }, "node switchover");
  const decided = JSON.parse(JSON.stringify(plan)) as JsonObject; // of texts and lists only
  await writeNote(run, NOTE, {
    ...{ format: FORMAT, created_at, asked_by: user },
    ...{ decided, sha256: digestOf(decided) },
  });
  return { run, plan, target: plan.destination, created_at };
}

function digestOf(decided: Json): string {
  return createHash("sha256").update(JSON.stringify(decided)).digest("hex");
}

/** Oldest first. @throws MigrationError N2I-E110 without run.json, N2I-E113 for a changed file */
export async function acceptedIn(state: string): Promise<readonly Accepted[]> {
  const found: Accepted[] = [];
  for (const name of (await readdir(state)).filter(isUuid)) {
    const run = await openRun(join(state, name), { create: false });
    const note = objectOf(await readNote(run, NOTE));
    const { entries } = await readJournal(run);
    // The process ended before the request was written and answered.
    if (Object.keys(note).length === 0 && entries.length === 0) continue;
    await checkKind(run, { kind: "switchover" }, "serve switchover");
    const decided = objectOf(note.decided);
    if (note.format !== FORMAT || note.sha256 !== digestOf(decided) || decided.id !== name)
      throw new MigrationError("N2I-E113", `${join(run.path, NOTE)} was changed`, {
        fix: `Check the journal of the run, finish it with node switchover or rollback, then move ${run.path} away.`,
      });
    const plan = planIn(decided);
    found.push({
      ...{ run, plan, created_at: String(note.created_at) },
      // A command may have rolled it back and started again with another spare.
      target: switchedIn(entries)?.plan.destination ?? plan.destination,
    });
  }
  return found.toSorted((one, other) => (one.created_at < other.created_at ? -1 : 1));
}

interface Outcome {
  readonly state: "WAIT_FENCE" | "FAILED";
  readonly error: string;
  /** ISO 8601, UTC. */
  readonly at: string;
}

export async function writeOutcome(run: RunFolder, outcome: Outcome | null): Promise<void> {
  await writeNote(run, OUTCOME, outcome === null ? null : { ...outcome });
}

/** Closes an accepted switchover that is rolled back: the service does not continue it. */
export async function closeTakenBack(run: RunFolder, at: string): Promise<void> {
  if (Object.keys(objectOf(await readNote(run, NOTE))).length === 0) return;
  await writeOutcome(run, { state: "FAILED", error: TAKEN_BACK, at });
}

export async function outcomeOf(run: RunFolder): Promise<Outcome | null> {
  const { state, error, at } = objectOf(await readNote(run, OUTCOME));
  if (state !== "WAIT_FENCE" && state !== "FAILED") return null;
  return { state, error: String(error), at: String(at) };
}

/**
 * A switchover that waits for an operator stays closed, because the source may be in use later.
 * @throws MigrationError N2I-E112
 */
export async function isOpen(accepted: Accepted): Promise<boolean> {
  if ((await outcomeOf(accepted.run)) !== null) return false;
  const { entries } = await readJournal(accepted.run);
  const switched = switchedIn(entries);
  return switched === null ? !wasStarted(entries) : !stateOf(switched).isDone;
}

function wasStarted(entries: Entries): boolean {
  return entries.some((entry) => entry.do === "start" && entry.part === "switchover-hold");
}

const TAKEN_BACK =
  "N2I-E389 it was rolled back by a command, or by a service that ended before it recorded the reason";

/**
 * A switchover in an answer. `state` is the last one reached, or WAIT_FENCE, ROLLED_BACK, FAILED.
 *
 * @param working its current error or null; absent: it is not in progress in this process
 */
export async function switchoverView(
  accepted: Accepted,
  working?: { readonly error: string | null },
) {
  const { entries } = await readJournal(accepted.run);
  const outcome = working === undefined ? await outcomeOf(accepted.run) : null;
  const { plan, target, created_at } = accepted;
  const times = entries.flatMap((entry) => ("at" in entry ? [entry.at] : []));
  const updated_at = [created_at, ...times, ...(outcome === null ? [] : [outcome.at])]
    .toSorted()
    .at(-1);
  const common = {
    ...{ id: plan.id, source: plan.source, target },
    ...{ created_at, updated_at: updated_at ?? created_at },
  };
  const error = outcome?.error ?? working?.error ?? null;
  const switched = switchedIn(entries);
  if (switched === null) {
    // Until it is closed, a rolled back switchover may start again.
    if (wasStarted(entries) && working === undefined)
      return { ...common, state: "ROLLED_BACK", step: null, error: error ?? TAKEN_BACK };
    return { ...common, state: outcome?.state ?? "CHECKED", step: null, error };
  }
  const reached = stateOf(switched);
  if (reached.isDone)
    return working === undefined
      ? { ...common, state: "DONE", step: null, error: null }
      : { ...common, state: SWITCH_STATES["switchover-clear"], step: "DONE", error };
  // The first step only reserves the machine for this switchover.
  const state = outcome?.state ?? (reached.state === "begun" ? "CHECKED" : reached.state);
  return { ...common, state, step: reached.at, error };
}
