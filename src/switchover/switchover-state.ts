import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError } from "../lib/error.ts";
import { type Json, type JsonObject, objectOf } from "../lib/json.ts";
import { isUuid } from "../lib/uuid.ts";
import type { Entries } from "../model/journal.ts";
import { readJournal } from "../run/files/journal.ts";
import { openRun, type RunFolder, readNote, writeNote } from "../run/files/run-folder.ts";
import { checkKind, markKind } from "../run/files/run-kind.ts";
import type { ShownSwitchover } from "./rules/served.ts";
import { SWITCH_STATES, type Switchover } from "./rules/switching.ts";
import { planIn, stateOf, switchedIn } from "./switchover-run.ts";

/** What was accepted over HTTP, and for whom. */
const NOTE = "switchover.json";
const FORMAT = "nova2ironic/switchover@1";
/** Why nothing works on it any more, though it is not at its end. */
const OUTCOME = "outcome.json";

/** A switchover that was answered with 202, and the run that it has of its own. */
export interface Accepted {
  readonly run: RunFolder;
  readonly id: string;
  /** As it was accepted. */
  readonly plan: Switchover;
  /** Uuids of nodes. */
  readonly source: string;
  /** Another than at first if a command took it back and began again. */
  readonly target: string;
  /** Of the source, which may be the target's by now. */
  readonly name: string | null;
  /** ISO 8601, UTC. */
  readonly created_at: string;
}

/** Who asked for it, as Keystone knows him. */
interface Asker {
  readonly user_id: string;
  readonly project_id: string | null;
  /** `req-UUID`. */
  readonly request: string;
}

/**
 * Writes a switchover down before it is answered: a folder of its own, which is the run that any command takes.
 *
 * @param state the folder of all of them
 * @throws MigrationError N2I-E110, N2I-E120
 */
export async function writeAccepted(
  state: string,
  plan: Switchover,
  asked_by: Asker,
  created_at: string,
): Promise<Accepted> {
  const run = await openRun(join(state, plan.id), { create: true });
  await markKind(run, { kind: "switchover" }, "node switchover");
  const decided = JSON.parse(JSON.stringify(plan)) as JsonObject; // it is of texts and lists
  await writeNote(run, NOTE, {
    ...{ format: FORMAT, created_at, asked_by: { ...asked_by } },
    ...{ decided, sha256: digestOf(decided) },
  });
  const { id, source, destination: target, source_name: name } = plan;
  return { run, id, plan, source, target, name, created_at };
}

function digestOf(decided: Json): string {
  return createHash("sha256").update(JSON.stringify(decided)).digest("hex");
}

/**
 * Every switchover that was accepted there, the oldest first.
 *
 * @throws MigrationError N2I-E110 for one without run.json, N2I-E113 for one that is not as it was written
 */
export async function acceptedIn(state: string): Promise<readonly Accepted[]> {
  const found: Accepted[] = [];
  for (const name of (await readdir(state)).filter(isUuid)) {
    const run = await openRun(join(state, name), { create: false });
    const note = objectOf(await readNote(run, NOTE));
    const { entries } = await readJournal(run);
    // Its process died before it was written, and so before it was answered.
    if (Object.keys(note).length === 0 && entries.length === 0) continue;
    await checkKind(run, { kind: "switchover" }, "serve switchover");
    const decided = objectOf(note.decided);
    if (note.format !== FORMAT || note.sha256 !== digestOf(decided) || decided.id !== name)
      throw new MigrationError("N2I-E113", `${join(run.path, NOTE)} is not as it was written`, {
        fix: `Look at the run's journal, end it with node switchover or rollback, and move ${run.path} away.`,
      });
    const created_at = String(note.created_at);
    const plan = planIn(decided);
    found.push({
      ...{ run, id: name, plan, source: plan.source, name: plan.source_name, created_at },
      // A command that took it back may have begun again with another spare.
      target: switchedIn(entries)?.plan.destination ?? plan.destination,
    });
  }
  return found.toSorted((one, other) => (one.created_at < other.created_at ? -1 : 1));
}

/** How a switchover ended that nothing works on any more. */
interface Outcome {
  readonly state: "WAIT_FENCE" | "FAILED";
  readonly error: string;
  /** ISO 8601, UTC. */
  readonly at: string;
}

type InRun = Pick<Accepted, "run">;

export async function writeOutcome({ run }: InRun, outcome: Outcome | null): Promise<void> {
  await writeNote(run, OUTCOME, outcome === null ? null : { ...outcome });
}

/** Closes an accepted switchover that is rolled back: the service does not continue it. */
export async function closeTakenBack(run: Accepted["run"], at: string): Promise<void> {
  if (Object.keys(objectOf(await readNote(run, NOTE))).length === 0) return;
  await writeOutcome({ run }, { state: "FAILED", error: TAKEN_BACK, at });
}

export async function outcomeOf({ run }: InRun): Promise<Outcome | null> {
  const { state, error, at } = objectOf(await readNote(run, OUTCOME));
  if (state !== "WAIT_FENCE" && state !== "FAILED") return null;
  return { state, error: String(error), at: String(at) };
}

/**
 * Whether a process that ended left something to do, by its files. What waits for a person does so still: days later
 * its source may be repaired, and in use.
 *
 * @throws MigrationError N2I-E112
 */
export async function isOpen(accepted: Accepted): Promise<boolean> {
  if ((await outcomeOf(accepted)) !== null) return false;
  const { entries } = await readJournal(accepted.run);
  const switched = switchedIn(entries);
  return switched === null ? !wasBegun(entries) : !isDone(stateOf(switched));
}

function isDone({ state, at }: ReturnType<typeof stateOf>): boolean {
  return state === "DONE" && at === null;
}

function wasBegun(entries: Entries): boolean {
  return entries.some((entry) => entry.do === "start" && entry.part === "switchover-hold");
}

const TAKEN_BACK =
  "N2I-E389 it was taken back by rollback, or by a service that ended before it wrote down why";

/**
 * A switchover as its files have it, whoever worked on it last.
 *
 * @param working what stands against it for now, where this process works on it: null, nothing; absent: it does not
 */
export async function shownOf(
  accepted: Accepted,
  working?: { readonly error: string | null },
): Promise<ShownSwitchover> {
  const { entries } = await readJournal(accepted.run);
  const outcome = working === undefined ? await outcomeOf(accepted) : null;
  const { id, source, target, created_at } = accepted;
  const times = entries.flatMap((entry) => ("at" in entry ? [entry.at] : []));
  const updated_at = [created_at, ...times, ...(outcome === null ? [] : [outcome.at])]
    .toSorted()
    .at(-1);
  const common = { id, source, target, created_at, updated_at: updated_at ?? created_at };
  const error = outcome?.error ?? working?.error ?? null;
  const switched = switchedIn(entries);
  if (switched === null) {
    // Until it is closed, what was taken back may begin anew.
    if (wasBegun(entries) && working === undefined)
      return { ...common, state: "ROLLED_BACK", step: null, error: error ?? TAKEN_BACK };
    return { ...common, state: outcome?.state ?? "CHECKED", step: null, error };
  }
  const reached = stateOf(switched);
  if (isDone(reached))
    return working === undefined
      ? { ...common, state: "DONE", step: null, error: null }
      : { ...common, state: SWITCH_STATES["switchover-clear"], step: "DONE", error };
  // The first step only reserves the machine for this switchover.
  const state = outcome?.state ?? (reached.state === "begun" ? "CHECKED" : reached.state);
  return { ...common, state, step: reached.at, error };
}
