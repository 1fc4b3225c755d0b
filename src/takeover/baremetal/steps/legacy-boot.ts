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

type LegacyChange = TreeChange<ImageName>;

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

type ImageSource =
  | { readonly file: string; readonly image: GlanceImage | null }
  | { readonly file: null; readonly image: GlanceImage };

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
}

/** Missing boot files, or the reason why they cannot be created. */
export interface InspectedBoot {
  readonly root_uuid: string | null;
  readonly changes: readonly LegacyChange[];
  readonly reason: string | null;
  readonly sources: ReadonlyMap<ImageName, ImageSource>;
}

export async function inspectBoot(
  { tree, served, from }: LegacyTrees,
  desired: DesiredBoot,
): Promise<InspectedBoot> {
  const { instance, macs, hosts } = desired;
  const found = hosts.map((host) => treeOf(from, host)).filter((one) => one !== null);
  const olds = [...new Set(found)];
  const none = { changes: [], sources: new Map<ImageName, ImageSource>() };
  // A tree shared by both hosts already has the file.
  const files = [...olds, tree];
  const texts: string[] = [];
  for (const one of files) {
    const content = await readText(one, `${instance}/config`);
    if (content.kind === "text" && bootsOf(content.text) !== null) texts.push(content.text);
  }
  const [text] = texts;
  const roots = new Set([...texts.map(bootsOf), desired.root_uuid].filter((one) => one !== null));
  const [root_uuid, other] = [...roots];
  if (root_uuid === undefined)
    return { ...none, root_uuid: null, reason: "its root filesystem is not known" };
  if (other !== undefined)
    return { ...none, root_uuid, reason: `its root filesystem is ${root_uuid} or ${other}` };
  const made = text === undefined ? desired.render(root_uuid) : rehomed(text, instance, served);
  if (made === null)
    return { ...none, root_uuid, reason: "its boot file can be neither copied nor created" };
  const { existing, sources } = await sourcesOf(olds, desired);
  const boot: LegacyBoot = { instance, macs, served, text: made };
  const observed = await Promise.all(
    legacyPaths(boot).map(async (path) => [path, await foundAt(tree, path)] as const),
  );
  const staged = legacyStage(boot, new Map(observed), existing);
  return { ...staged, root_uuid, sources };
}

async function foundAt(tree: Tree, path: string) {
  const found = await inspect(tree.root, path);
  if (found.kind !== "file" || !path.endsWith("/config")) return found;
  const content = await readText(tree, path);
  return content.kind === "text" ? { ...found, text: content.text } : found;
}

/** Takes images from the former hosts' trees or, if they are missing there, from Glance. */
async function sourcesOf(olds: readonly Tree[], { instance, images }: DesiredBoot) {
  const [existing, sources] = [
    new Map<ImageName, ExistingImage>(),
    new Map<ImageName, ImageSource>(),
  ];
  for (const name of IMAGES) {
    const result = images.get(name);
    const image = typeof result === "object" ? result : null;
    const file = await copyOf(olds, `${instance}/${name}`);
    const bytes = image?.size ?? null;
    if (file !== null) {
      sources.set(name, { file: file.path, image });
      const other = bytes !== null && file.bytes !== bytes;
      const fault = other
        ? `${file.path} has ${file.bytes} bytes, but Glance's image ${image?.id} has ${bytes}`
        : null;
      existing.set(name, { fault, bytes });
    } else if (image !== null) {
      sources.set(name, { file: null, image });
      existing.set(name, { fault: null, bytes });
    } else if (typeof result === "string")
      existing.set(name, { fault: `no specified tree has it, and ${result}`, bytes });
  }
  return { existing, sources };
}

async function copyOf(olds: readonly Tree[], path: string) {
  for (const old of olds) {
    const bytes = await sizeOf(old, path);
    if (bytes) return { path: await realpath(join(old.root, path)), bytes };
  }
  return null;
}

/** @returns why a copy differs from Glance's image, or null */
export async function fetchImages(
  { changes, sources }: InspectedBoot,
  fetch: Fetch,
): Promise<string | null> {
  for (const change of changes) {
    if (change.do !== "copy") continue;
    const source = sources.get(change.file);
    if (source === undefined) throw new Error(`${change.path} has no source to copy from`);
    if (source.file === null) await fetch(source.image);
    else if (source.image !== null) {
      const reason = await differsFrom(source.file, source.image);
      if (reason !== null) return `${source.file} is not its image: ${reason}`;
    }
  }
  return null;
}

type Fetch = (image: GlanceImage) => Promise<FetchedImage>;

/**
 * Repeatable.
 *
 * @param begin called with all steps before the first one
 * @throws MigrationError N2I-E300 if a name was changed
 */
export async function buildBoot(
  { root }: Tree,
  boot: InspectedBoot,
  fetch: Fetch,
  begin: (steps: readonly BootStep[]) => Promise<void>,
): Promise<void> {
  const { changes, sources } = boot;
  if (changes.length === 0) return;
  const ready: (readonly [BootStep, Source | null])[] = [];
  for (const change of changes) ready.push(await readyOf(change, sources, fetch));
  await begin(ready.map(([step]) => step));
  const owner = { mode: 0o644, ...(await ownerIn(root)) };
  for (const [step, source] of ready) {
    await perform(root, step, source, owner, failpoint);
    await failpoint("boot.step");
  }
}

async function readyOf(
  change: LegacyChange,
  sources: InspectedBoot["sources"],
  fetch: Fetch,
): Promise<readonly [BootStep, Source | null]> {
  const { path } = change;
  const step = (after: BootStep["after"]): BootStep => ({ path, before: null, after });
  switch (change.do) {
    case "folder":
      return [step({ kind: "folder" }), null];
    case "link":
      return [step({ kind: "link", target: change.target }), null];
    case "write": {
      const sha256 = createHash("sha256").update(change.text, "latin1").digest("hex");
      return [step({ kind: "file", sha256 }), { text: change.text }];
    }
    case "copy": {
      const source = sources.get(change.file);
      if (source === undefined) throw new Error(`${path} has no source to copy from`);
      if (source.file === null) {
        const { file, sha256 } = await fetch(source.image);
        return [step({ kind: "file", sha256 }), { file }];
      }
      const { file } = source;
      const sha256 = await digestOf(file).catch((cause: unknown) => {
        throw new MigrationError("N2I-E410", `cannot read ${file}`, { cause });
      });
      return [step({ kind: "file", sha256 }), { file }];
    }
  }
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
