import { existsSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { MigrationError, orNull } from "../../lib/error.ts";
import { isObject, type JsonObject, parsedJson } from "../../lib/json.ts";
import type { ArtefactKind, MachinesHeader } from "../../model/artefact.ts";
import type { Finding } from "../../model/findings.ts";
import type { PlannedMove } from "../../model/nova/host-move.ts";
import type { NovaStep } from "../../model/nova/nova-plan.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { openArtefact } from "../../run/files/artefact-reader.ts";
import { readJournal } from "../../run/files/journal.ts";
import { MANIFEST, openManifest } from "../../run/files/plan-folder.ts";
import { readWindow } from "../../run/files/window-file.ts";
import { isOfHosts, openMovePlan } from "../../run/host-files.ts";
import { checkHome, openPlan, openSnapshot, PLAN, SNAPSHOT } from "../../run/run.ts";
import { linesOf } from "../../systems/logs/scan.ts";
import { openNovaFiles } from "../hosts/nova-files.ts";
import { openPower } from "../power/power-file.ts";
import { machinesOf } from "./machine-finder.ts";

/** An artifact of a run that can be printed row by row. */
export type ShowableArtifact = Awaited<ReturnType<typeof openArtifact>>;

/**
 * Opens a snapshot, power readings, a plan by its folder or manifest, a file of a plan, or a record
 * of a run.
 * @param nova of a plan: its Nova rows instead of its machines
 * @throws MigrationError N2I-E110 to N2I-E114
 */
export async function openArtifact(path: string, nova: boolean) {
  // Adds the extension: `m1/log` becomes m1/log.jsonl.
  const file = !existsSync(path) && existsSync(`${path}.jsonl`) ? `${path}.jsonl` : path;
  const isFolder = statSync(file, { throwIfNoEntry: false })?.isDirectory() === true;
  const folder = basename(file) === MANIFEST ? dirname(file) : isFolder ? file : null;
  if (folder !== null && !existsSync(join(folder, MANIFEST)))
    throw new MigrationError("N2I-E110", `${file} is not a plan folder`, {
      fix: "Specify one of the files in a run: RUN/plan, RUN/snapshot.jsonl, RUN/power.jsonl, RUN/journal.jsonl, RUN/log.jsonl.",
    });
  if (folder !== null) return { ...(await inFolder(folder, nova)), run: dirname(folder) };
  if (nova)
    throw new MigrationError("N2I-E100", `--nova requires a plan folder, but ${file} is not one`);
  const record = await recordOf(file);
  if (record !== null) return { ...record, run: dirname(file) };
  const inPlan = basename(dirname(file)) === PLAN;
  return { ...(await fileOf(file)), run: dirname(inPlan ? dirname(file) : file) };
}

/** Recognizes records by file name, because they have no footer. */
async function recordOf(file: string) {
  const run = { path: dirname(file) };
  if (!existsSync(file)) return null;
  switch (basename(file)) {
    case "journal.jsonl":
      return { kind: "journal" as const, entries: (await readJournal(run)).entries };
    case "window.jsonl":
      return { kind: "window" as const, entries: await readWindow(run) };
    case "log.jsonl":
      return { kind: "log" as const, facts: () => factsOf(file) };
    default:
      return null;
  }
}

async function* factsOf(path: string): AsyncGenerator<JsonObject> {
  for await (const { text } of linesOf(path)) {
    const fact = parsedJson(text);
    if (isObject(fact)) yield fact;
  }
}

async function fileOf(file: string) {
  const linesIn = async <Line>(kind: ArtefactKind) =>
    (await orNull(openArtefact<JsonObject, Line>(file, kind), OTHER))?.lines;
  const machines = openArtefact<MachinesHeader, PlannedMachine>(file, "machines", checkHome);
  const plan = await orNull(machines, OTHER);
  if (plan !== null)
    return { kind: "machines" as const, origins: plan.header.origins, lines: plan.lines };
  const moves = await linesIn<PlannedMove>("moves");
  if (moves !== undefined) return { kind: "moves" as const, lines: moves };
  const power = await orNull(powerFile(file), OTHER);
  if (power !== null) return power;
  const steps = await linesIn<NovaStep>("nova");
  if (steps !== undefined) return { kind: "nova" as const, steps, findings: NONE };
  const findings = await linesIn<Finding>("nova-findings");
  if (findings !== undefined) return { kind: "nova" as const, steps: NONE, findings };
  return { kind: "snapshot" as const, lines: (await openSnapshot(file)).lines };
}

async function powerFile(file: string) {
  const power = await openPower(file);
  const snapshot = await orNull(openSnapshot(join(dirname(file), SNAPSHOT)), "N2I-E110");
  const machines = snapshot === null ? new Map<number, never>() : await machinesOf(snapshot, null);
  return { kind: "power" as const, readings: power.lines, machines };
}

async function inFolder(folder: string, nova: boolean) {
  const plan = await openManifest(folder);
  if (isOfHosts(plan.manifest)) {
    const moves = await openMovePlan(folder);
    return nova ? stepsOfMoves(moves) : { kind: "moves" as const, lines: moves.lines };
  }
  if (!nova) {
    const { header, lines } = await openPlan(folder);
    return { kind: "machines" as const, origins: header.origins, lines };
  }
  const files = await openNovaFiles(plan);
  if (files === null) throw new MigrationError("N2I-E114", `${folder} was made without Nova`);
  return { kind: "nova" as const, steps: files.all, findings: files.findings };
}

function stepsOfMoves({ manifest, lines }: Awaited<ReturnType<typeof openMovePlan>>) {
  async function* steps(): AsyncGenerator<readonly NovaStep[]> {
    for await (const batch of lines()) yield batch.flatMap((line) => line.steps);
    yield manifest.fence;
  }
  async function* findings(): AsyncGenerator<readonly Finding[]> {
    for await (const batch of lines()) yield batch.flatMap((line) => line.findings);
    yield manifest.findings;
  }
  return { kind: "nova" as const, steps, findings };
}

async function* NONE(): AsyncGenerator<never> {}

/** An artifact of another kind. */
const OTHER = "N2I-E113";
