import { join } from "node:path";
import { MigrationError, orNull } from "../lib/error.ts";
import type { Json, JsonObject } from "../lib/json.ts";
import { shellArgument } from "../lib/text.ts";
import type {
  MachinesHeader,
  PlanHeader,
  SnapshotCounts,
  SnapshotHeader,
} from "../model/artefact.ts";
import type { Machine, SnapshotLine } from "../model/machine.ts";
import { MACHINES } from "../model/nova/nova-plan.ts";
import type { PlannedMachine } from "../model/plan.ts";
import { isPlainlyHome, type Seal, strayed } from "../model/secret.ts";
import { digestOnly, openArtefact } from "./files/artefact-reader.ts";
import { openFileOf, openManifest, PLAN } from "./files/plan-folder.ts";
import { lockRun, openRun, type RunFolder } from "./files/run-folder.ts";
import { checkKind, markKind, type RunAbout } from "./files/run-kind.ts";
import { createSeal, KEY, readKey } from "./files/seal.ts";
import { processContext, waitingFor } from "./process-context.ts";

export { PLAN } from "./files/plan-folder.ts";
export const SNAPSHOT = "snapshot.jsonl";

export function openSnapshot(path: string) {
  const check = (line: SnapshotLine, value: { [key: string]: Json }, text: string): void => {
    if (!("orphan" in line)) checkSecrets(value, text, line.node);
  };
  return waitingFor("reading the snapshot", () =>
    openArtefact<SnapshotHeader, SnapshotLine, SnapshotCounts>(path, "snapshot", check),
  );
}

/**
 * A plan of machines whose digests were checked.
 * @param path folder of a plan
 */
export function openPlan(path: string) {
  return waitingFor("reading the plan", async () => {
    const opened = await openManifest(path);
    if ("kind" in opened.manifest)
      throw new MigrationError("N2I-E315", `${path} moves machines between compute hosts`, {
        fix: "Use this run with host move, show, status, verify or rollback.",
      });
    const { header, lines } = await openFileOf<MachinesHeader, PlannedMachine>(
      opened,
      MACHINES,
      checkHome,
    );
    const { counts, nova: _nova, files: _files, ...about } = opened.manifest;
    return {
      header: { ...about, origins: header.origins },
      /** Counts and digest of the manifest. */
      footer: { footer: counts, sha256: opened.sha256 },
      lines,
    };
  });
}

/** A secret of another machine is refused. @throws MigrationError N2I-E115 */
export function checkHome(line: PlannedMachine, value: JsonObject, text: string): void {
  const { bm_node_id: id, uuid, service_host } = line;
  checkSecrets(value, text, { id, uuid, service_host });
}

/**
 * Secrets must belong to the line's machine, or to the compute host whose nova.conf has them.
 * Otherwise a moved password would be sent to another machine's BMC.
 * @throws MigrationError N2I-E115
 */
function checkSecrets(
  line: Json,
  text: string,
  { id, uuid, service_host }: Pick<Machine["node"], "id" | "uuid" | "service_host">,
): void {
  const nodeUuid = uuid?.toLowerCase() ?? "";
  const isHome = (owner: string): boolean =>
    owner === nodeUuid ||
    owner === `bm_nodes:${id}` ||
    owner === `host:${service_host ?? ""}`.toLowerCase() ||
    owner === "host:*";
  if (isPlainlyHome(text, isHome)) return;
  const other = strayed(line, isHome);
  if (other === null) return;
  throw new MigrationError(
    "N2I-E115",
    `a secret of ${other} is in the data of ${uuid ?? `bm_nodes.id=${id}`}`,
    { fix: "The file was edited. Run extract and plan again." },
  );
}

/**
 * Opens the key of a run, and refuses a key that does not match the artefact.
 * @throws MigrationError N2I-E115 with the matching key of this run, if there is one
 */
export async function sealOf(
  run: RunFolder,
  keyFile: string | undefined,
  sealedWith: string,
): Promise<ReturnType<typeof createSeal>> {
  const seal = createSeal(await readKey(run.path, keyFile));
  if (seal.id === sealedWith) return seal;
  const match = await matchingKey(run, sealedWith);
  throw new MigrationError(
    "N2I-E115",
    `${keyFile ?? join(run.path, KEY)} (${seal.id}) is not the key that sealed this file (${sealedWith})`,
    match === null ? {} : { fix: `Specify the matching key: --key-file ${shellArgument(match)}` },
  );
}

async function matchingKey({ path }: RunFolder, sealedWith: string): Promise<string | null> {
  const keyFile = processContext().saved.get(path)?.get("key-file");
  for (const file of [join(path, KEY), ...(typeof keyFile === "string" ? [keyFile] : [])]) {
    const key = await orNull(readKey(path, file));
    if (key !== null && createSeal(key).id === sealedWith) return file;
  }
  return null;
}

/** @throws MigrationError N2I-E115, N2I-E114 if the plan is of another snapshot with another key */
export async function sealToLoad(
  run: RunFolder,
  keyFile: string | undefined,
  { key, made_from }: PlanHeader,
): Promise<Seal> {
  try {
    return await sealOf(run, keyFile, key);
  } catch (cause) {
    const snapshot = await orNull(digestOnly(`${run.path}/${SNAPSHOT}`, "snapshot"));
    if (snapshot === null || snapshot === made_from.snapshot) throw cause;
    throw new MigrationError("N2I-E114", `${run.path}: the plan belongs to a different snapshot`, {
      cause,
    });
  }
}

export function isRehearsed(): boolean {
  return processContext().copies !== undefined;
}

/**
 * Runs a command that writes into the run folder, under its lock.
 * @param about kind of run; `create` makes a new one
 * @throws MigrationError N2I-E110, N2I-E113, N2I-E302, N2I-E315 for a run of another kind
 */
export async function inRun<T>(
  path: string,
  command: string,
  { create = false, ...about }: RunAbout & { readonly create?: boolean },
  work: (run: RunFolder) => Promise<T>,
): Promise<T> {
  const run = { ...(await openRun(path, { create, inner: isRehearsed() })), command };
  const release = await lockRun(run, command);
  try {
    await (create ? markKind : checkKind)(run, about, command);
    return await work(run);
  } finally {
    await release();
  }
}

export function planOrNull(run: string) {
  return orNull(openPlan(`${run}/${PLAN}`), "N2I-E110");
}
