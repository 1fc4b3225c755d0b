import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { readdir, readlink, rename, rm, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { MigrationError, systemCode } from "../../lib/error.ts";
import { atExit } from "../../lib/files/at-exit.ts";
import { contentOf, notRead, notWritten } from "../../lib/files/failure.ts";
import { syncFolder, TEMPORARY, tempOf, writeAtomic } from "../../lib/files/temp-file.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { ArtefactKind } from "../../model/artefact.ts";
import type { MoveManifest } from "../../model/nova/host-move.ts";
import type { PlanFile, PlanManifest } from "../../model/nova/nova-plan.ts";
import { LONGEST_LINE, parseObject } from "./artefact-form.ts";
import { isOf, openArtefact, openFile, refusal } from "./artefact-reader.ts";
import { createArtefact } from "./artefact-writer.ts";
import type { RunFolder } from "./run-folder.ts";

type ArtefactWriter = Awaited<ReturnType<typeof createArtefact>>;

/** Link in the run to the folder of the current plan, `plan-<12 of sha256>`. */
export const PLAN = "plan";
/** In a plan's folder: digests of its files and of the plan. */
export const MANIFEST = "plan.json";

export const OF_A_PLAN = /^plan-[0-9a-f]{12}$/;

function folderOf({ path }: RunFolder, sha256: string): string {
  return join(path, `${PLAN}-${sha256.slice(0, 12)}`);
}

/** A plan that is being written. Other commands ignore it. */
export type PlanWriter = Awaited<ReturnType<typeof createPlan>>;

/** @throws MigrationError N2I-E120, from every function here */
export async function createPlan(run: RunFolder) {
  const temp = tempOf(join(run.path, PLAN));
  // Create the folder and register its removal in one turn of the event loop, because a signal ends
  // the process between two turns.
  try {
    mkdirSync(temp, { mode: 0o700 });
  } catch (cause) {
    throw notWritten(join(run.path, PLAN), cause);
  }
  const cancelCleanup = atExit(() => rmSync(temp, { recursive: true, force: true }));
  const writers = new Map<string, ArtefactWriter>();
  return {
    /** Starts a file of the plan, named without `.jsonl`. */
    async begin(name: string, header: { readonly format: string }): Promise<ArtefactWriter> {
      const writer = await createArtefact({ path: temp }, `${name}.jsonl`, header);
      writers.set(name, writer);
      return writer;
    },
    /**
     * Completes its files and makes it the run's plan. An identical plan stays.
     * @param placed called when it is complete, before it becomes the run's plan
     * @returns its digest
     */
    async finish(
      about: Omit<PlanManifest, "files" | "format"> | Omit<MoveManifest, "files" | "format">,
      placed: () => Promise<void>,
    ): Promise<string> {
      const files: Record<string, PlanFile> = {};
      for (const [name, writer] of writers) {
        files[name] = await writer.finish({});
      }
      const { text, sha256 } = manifestText({ ...about, files });
      const bytes = Buffer.byteLength(text);
      const path = join(temp, MANIFEST);
      if (bytes > LARGEST_MANIFEST)
        throw new MigrationError("N2I-E120", `cannot write ${path}: it would have ${bytes} bytes`);
      await writeAtomic(temp, MANIFEST, text);
      const folder = folderOf(run, sha256);
      const made = await moveTo(folder, temp);
      cancelCleanup();
      await placed();
      await pointTo(run, folder).catch(async (cause: unknown) => {
        if (made) await archivePlan(folder);
        throw cause;
      });
      return sha256;
    },
    /** Removes the new files. The run's plan is unchanged. */
    async abandon(): Promise<void> {
      for (const writer of writers.values()) await writer.abandon();
      await rm(temp, { recursive: true, force: true }).catch(() => undefined);
      cancelCleanup();
    },
  };
}

/** An existing, undamaged plan with that name is kept. @returns whether the new one was renamed */
async function moveTo(folder: string, temp: string): Promise<boolean> {
  try {
    if (await isComplete(folder)) {
      await rm(temp, { recursive: true });
      return false;
    }
    await archivePlan(folder);
    await rename(temp, folder);
  } catch (cause) {
    throw notWritten(folder, cause);
  }
  await syncFolder(dirname(folder));
  return true;
}

async function isComplete(folder: string): Promise<boolean> {
  try {
    const { manifest } = await openManifest(folder);
    for (const name of Object.keys(manifest.files)) await openFileOf({ folder, manifest }, name);
    return true;
  } catch (cause) {
    if (cause instanceof MigrationError) return false;
    throw cause;
  }
}

async function archivePlan(folder: string): Promise<void> {
  const renamed = `${folder}.${randomBytes(4).toString("hex")}${TEMPORARY}`;
  try {
    await rename(folder, renamed);
  } catch (cause) {
    if (systemCode(cause) === "ENOENT") return;
    throw cause;
  }
  await rm(renamed, { recursive: true, force: true });
}

/** Renames a link, so that the run has either the old or the new plan. */
async function pointTo(run: RunFolder, folder: string): Promise<void> {
  const path = join(run.path, PLAN);
  const temp = tempOf(path);
  try {
    await symlink(basename(folder), temp);
    await rename(temp, path);
  } catch (cause) {
    await rm(temp, { force: true }).catch(() => undefined);
    if (systemCode(cause) === "EISDIR")
      throw new MigrationError("N2I-E113", `${path} is a folder, not a link to one`, {
        fix: `A copy replaced the link. Remove the folder, then run plan again. Each plan is kept in its own folder ${path}-*.`,
      });
    throw notWritten(path, cause);
  }
  await syncFolder(run.path);
}

/** Removes plans of a run, except the current one and those of `keep`, which the journal names. */
export async function removePlans(run: RunFolder, keep: ReadonlySet<string>): Promise<void> {
  try {
    const folders = new Set([...keep].map((sha256) => folderOf(run, sha256)));
    folders.add(await resolved(join(run.path, PLAN)));
    for (const name of await readdir(run.path)) {
      const folder = join(run.path, name);
      if (OF_A_PLAN.test(name) && !folders.has(folder)) await archivePlan(folder);
    }
  } catch (cause) {
    throw notWritten(run.path, cause);
  }
}

/** Follows a link only within its folder, so that a copied run does not use the original. */
async function resolved(path: string): Promise<string> {
  try {
    return join(dirname(path), basename(await readlink(path)));
  } catch (cause) {
    if (["EINVAL", "ENOENT", "ENOTDIR"].includes(systemCode(cause) ?? "")) return path;
    throw notRead(path, cause);
  }
}

export type OpenedPlan = Awaited<ReturnType<typeof openManifest>>;

type Stage = "plan" | "moves";

/**
 * @param path folder of a plan, or a link to it
 * @param of plan whose command the message names if it is missing
 * @throws MigrationError N2I-E110 to N2I-E113
 */
export async function openManifest(path: string, of: Stage = "plan") {
  const folder = await resolved(path);
  const file = join(folder, MANIFEST);
  const text = await textOf(file, of);
  if (!isOf(FORMAT, text, file) && !`{\n  "format": "${FORMAT}"`.startsWith(text))
    throw refusal("N2I-E113", file, "is not the manifest of a plan");
  const manifest = parseObject(text);
  if (manifest === null) throw refusal("N2I-E111", file, "ends before its digest");
  const ending = ENDING.exec(text);
  const sha256 = ending?.[1] ?? "";
  if (ending === null || digestOf(text.slice(0, ending.index)) !== sha256)
    throw refusal("N2I-E112", file, "does not match the digest at its end");
  // Format and digest were checked, instead of each field.
  return { folder, manifest: manifest as unknown as PlanManifest, sha256 };
}

const KINDS = ["machines", "nova-findings", "moves"] as const satisfies readonly ArtefactKind[];

/**
 * Opens a file of a plan, and compares it with the manifest's digest.
 * @throws MigrationError N2I-E110 to N2I-E113, N2I-E114 for a file of another plan
 */
export async function openFileOf<Header = JsonObject, Line = JsonObject>(
  { folder, manifest }: Pick<OpenedPlan, "folder" | "manifest">,
  name: string,
  check?: (line: Line, value: JsonObject, text: string) => void,
) {
  const path = join(folder, `${name}.jsonl`);
  const kind = KINDS.find((one) => one === name) ?? "nova";
  const file = await openArtefact<Header, Line>(path, kind, check);
  if (file.footer.sha256 !== manifest.files[name]?.sha256)
    throw refusal("N2I-E114", path, `is not the file that ${MANIFEST} names`);
  return file;
}

/** Reads only the manifest. @throws MigrationError N2I-E110 if the run has no such plan */
export async function findPlan(run: RunFolder, sha256: string): Promise<string> {
  const folder = folderOf(run, sha256);
  for (const path of [folder, join(run.path, PLAN)])
    if ((await digestIn(path)) === sha256) return path;
  throw new MigrationError(
    "N2I-E110",
    `${run.path} has no plan with the digest ${sha256.slice(0, 12)}`,
    { fix: `Restore that plan as ${folder}, because the journal refers to its lines.` },
  );
}

/** Null if the manifest is missing or damaged. */
async function digestIn(path: string): Promise<string | null> {
  return openManifest(path).then(
    ({ sha256 }) => sha256,
    (cause: unknown) => {
      if (!(cause instanceof MigrationError) || systemCode(cause.cause) === "EACCES") throw cause;
      return null;
    },
  );
}

const FORMAT = "nova2ironic/plan@2";
const ENDING = /,\n {2}"sha256": "([0-9a-f]{64})"\n\}\n$/;

/** The text of a manifest, which ends with the digest of the text before. */
function manifestText(about: object): { readonly text: string; readonly sha256: string } {
  const body = JSON.stringify({ format: FORMAT, ...about }, null, 2).slice(0, -"\n}".length);
  const sha256 = digestOf(body);
  return { text: `${body},\n  "sha256": "${sha256}"\n}\n`, sha256 };
}

/** Maximum bytes of a manifest. A larger one has wrong data. */
const LARGEST_MANIFEST = LONGEST_LINE;

async function textOf(path: string, of: Stage): Promise<string> {
  const file = await openFile(path, of);
  try {
    const content = await contentOf(file, path, "the manifest of a plan", LARGEST_MANIFEST);
    return content.toString("utf8");
  } catch (cause) {
    throw notRead(path, cause);
  } finally {
    await file.close();
  }
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
