import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError } from "../../../lib/error.ts";
import { differsFrom } from "../../../migrate/boot/glance-image.ts";
import type { BootStep } from "../../../model/boot.ts";
import { failpoint } from "../../../run/failpoint.ts";
import type { GlanceImage } from "../../../systems/openstack/glance-images.ts";
import { ownerIn, perform, type Source, undoStep } from "../../../systems/tftp/perform.ts";
import {
  bootsOf,
  type ExistingImage,
  IMAGES,
  type ImageName,
  type LegacyBoot,
  legacyPaths,
  legacyStage,
  rehomed,
} from "../../../systems/tftp/rules/legacy.ts";
import type { TreeChange } from "../../../systems/tftp/rules/stage.ts";
import { digestOf, inspect, sweep } from "../../../systems/tftp/safe-fs.ts";
import { readText, sizeOf, type Tree, treeOf } from "../../../systems/tftp/tree.ts";

export interface LegacyTrees {
  readonly tree: Tree;
  /** The path of the tree in the new host's nova.conf. */
  readonly served: string;
  readonly from: readonly Tree[];
}

export interface FetchedImage {
  readonly file: string;
  readonly sha256: string;
}

interface ImageSource extends ExistingImage {
  /** Downloads or compares the image. @returns why a copy differs from Glance's image, or null */
  readonly prepare: () => Promise<string | null>;
  readonly load: () => Promise<FetchedImage>;
}

interface DesiredBoot {
  readonly instance: string;
  readonly macs: readonly string[];
  /** Two hosts, because an earlier takeover may have died before it had the files. */
  readonly hosts: readonly string[];
  /** The root filesystem from a source other than a tree, or null. */
  readonly root_uuid: string | null;
  /** Creates a boot file if no tree has one, or returns null. */
  readonly render: (root_uuid: string) => string | null;
  /** Images from Glance or, for each missing image, the reason. */
  readonly images: ReadonlyMap<ImageName, GlanceImage | string>;
  readonly fetch: (image: GlanceImage) => Promise<FetchedImage>;
}

/** Missing boot files, or the reason why they cannot be created. */
export interface InspectedBoot {
  readonly root_uuid: string | null;
  readonly changes: readonly TreeChange<ImageName>[];
  readonly reason: string | null;
  readonly sources: ReadonlyMap<ImageName, ImageSource>;
}

export async function inspectBoot(
  { tree, served, from }: LegacyTrees,
  desired: DesiredBoot,
): Promise<InspectedBoot> {
  const { instance, macs, hosts } = desired;
  const olds = [...new Set(hosts.flatMap((host) => treeOf(from, host) ?? []))];
  const texts: string[] = [];
  // A tree shared by both hosts already has the file.
  for (const one of [...olds, tree]) {
    const content = await readText(one, `${instance}/config`);
    if (content.kind === "text" && bootsOf(content.text) !== null) texts.push(content.text);
  }
  const [copied] = texts;
  const roots = new Set([...texts.map(bootsOf), desired.root_uuid].filter((one) => one !== null));
  const [root_uuid = null, other] = [...roots];
  const impossible = (reason: string): InspectedBoot => {
    return { root_uuid, changes: [], reason, sources: new Map() };
  };
  if (root_uuid === null) return impossible("its root filesystem is not known");
  if (other !== undefined) return impossible(`its root filesystem is ${root_uuid} or ${other}`);
  const text = copied === undefined ? desired.render(root_uuid) : rehomed(copied, instance, served);
  if (text === null) return impossible("its boot file can be neither copied nor created");
  const sources = await sourcesOf(olds, desired);
  const boot: LegacyBoot = { instance, macs, served, text };
  const observed = await Promise.all(
    legacyPaths(boot).map(async (path) => [path, await foundAt(tree, path)] as const),
  );
  return { ...legacyStage(boot, new Map(observed), sources), root_uuid, sources };
}

async function foundAt(tree: Tree, path: string) {
  const found = await inspect(tree.root, path);
  if (found.kind !== "file" || !path.endsWith("/config")) return found;
  const content = await readText(tree, path);
  return content.kind === "text" ? { ...found, text: content.text } : found;
}

/** Takes images from the former hosts' trees or, if they are missing there, from Glance. */
async function sourcesOf(olds: readonly Tree[], { instance, images, fetch }: DesiredBoot) {
  const sources = new Map<ImageName, ImageSource>();
  for (const name of IMAGES) {
    const result = images.get(name);
    const copy = await copyOf(olds, `${instance}/${name}`);
    const image = typeof result === "object" ? result : null;
    const bytes = image?.size ?? null;
    if (copy !== null) {
      const { path } = copy;
      const fault =
        image !== null && copy.bytes !== bytes
          ? `${path} has ${copy.bytes} bytes, but Glance's image ${image.id} has ${bytes}`
          : null;
      const prepare = async (): Promise<string | null> => {
        const reason = image && (await differsFrom(path, image));
        return reason && `${path} is not its image: ${reason}`;
      };
      sources.set(name, { fault, bytes, prepare, load: () => digested(path) });
    } else if (result !== undefined) {
      const fault = image === null ? `no specified tree has it, and ${result}` : null;
      const load = async (): Promise<FetchedImage> => {
        if (image === null) throw new Error("an image has no source to copy from");
        return fetch(image);
      };
      sources.set(name, { fault, bytes, prepare: () => load().then(() => null), load });
    }
  }
  return sources;
}

async function copyOf(olds: readonly Tree[], path: string) {
  for (const old of olds) {
    const bytes = await sizeOf(old, path);
    if (bytes) return { path: await realpath(join(old.root, path)), bytes };
  }
  return null;
}

/** @returns why a copy differs from Glance's image, or null */
export async function prepareImages({ changes, sources }: InspectedBoot): Promise<string | null> {
  for (const change of changes) {
    const reason = change.do === "copy" ? await sources.get(change.file)?.prepare() : null;
    if (reason) return reason;
  }
  return null;
}

/**
 * Repeatable.
 *
 * @param begin called with all steps before the first one
 * @throws MigrationError N2I-E300 if a name was changed
 */
export async function buildBoot(
  { root }: Tree,
  { changes, sources }: InspectedBoot,
  begin: (steps: readonly BootStep[]) => Promise<void>,
): Promise<void> {
  if (changes.length === 0) return;
  const ready: (readonly [BootStep, Source | null])[] = [];
  for (const change of changes) {
    const [after, source] = await readyOf(change, sources);
    ready.push([{ path: change.path, before: null, after }, source]);
  }
  await begin(ready.map(([step]) => step));
  const owner = { mode: 0o644, ...(await ownerIn(root)) };
  for (const [step, source] of ready) {
    await perform(root, step, source, owner, failpoint);
    await failpoint("boot.step");
  }
}

async function readyOf(
  change: InspectedBoot["changes"][number],
  sources: InspectedBoot["sources"],
): Promise<readonly [BootStep["after"], Source | null]> {
  switch (change.do) {
    case "folder":
      return [{ kind: "folder" }, null];
    case "link":
      return [{ kind: "link", target: change.target }, null];
    case "write": {
      const sha256 = createHash("sha256").update(change.text, "latin1").digest("hex");
      return [{ kind: "file", sha256 }, { text: change.text }];
    }
    case "copy": {
      const image = await sources.get(change.file)?.load();
      if (image === undefined) throw new Error(`${change.path} has no source to copy from`);
      return [{ kind: "file", sha256: image.sha256 }, { file: image.file }];
    }
  }
}

async function digested(file: string): Promise<FetchedImage> {
  const sha256 = await digestOf(file).catch((cause: unknown) => {
    throw new MigrationError("N2I-E410", `cannot read ${file}`, { cause });
  });
  return { file, sha256 };
}

/** Keeps changed files. @returns the kept files with reasons */
export async function removeBoot(
  root: string,
  steps: readonly BootStep[],
): Promise<readonly string[]> {
  const conflicts: string[] = [];
  for (const step of steps.toReversed()) {
    await sweep(root, step.path);
    const undone = await undoStep(root, step, null, failpoint);
    // This folder contains links of other machines.
    const shared = step.path === "pxelinux.cfg";
    if (typeof undone === "object" && !shared) conflicts.push(undone.conflict);
  }
  return conflicts;
}
