import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import {
  bootsOf,
  IMAGES,
  type ImageName,
  type LegacyBoot,
  type LegacyChange,
  legacyPaths,
  legacyStage,
  rehomed,
} from "../core/boot/legacy.ts";
import { ownerIn, perform, type Source, undoStep } from "../edge/tftp/perform.ts";
import { digestOf, inspect, sweep } from "../edge/tftp/safe-fs.ts";
import { readText, sizeOf, type Tree, treeOf } from "../edge/tftp/tree.ts";
import type { BootStep } from "../model/boot.ts";
import { MigrationError } from "../model/error.ts";

/** Trees of the new host, and of hosts that machines leave. */
export interface LegacyTrees {
  readonly tree: Tree;
  /** The root as nova.conf of the new host has it. */
  readonly served: string;
  readonly from: readonly Tree[];
}

/** What is known of a machine's boot files besides its trees. */
interface WantedBoot {
  readonly instance: string;
  readonly macs: readonly string[];
  /** Its old host, then that of its instance: who took it over may have died before it had its files. */
  readonly hosts: readonly string[];
  /** Of its root filesystem, by who knows it besides a tree; null where nobody does. */
  readonly root_uuid: string | null;
  /** Its boot file where no tree has one. @returns null where it cannot be made */
  readonly render: (root_uuid: string) => string | null;
}

/** What a tree lacks of a machine, or why it cannot have it. */
export interface LookedBoot {
  readonly root_uuid: string | null;
  readonly changes: readonly LegacyChange[];
  readonly why: string | null;
  readonly sources: ReadonlyMap<ImageName, string>;
}

/** Looks at what the new host's tree lacks, and where that comes from; writes nothing. */
export async function lookAtBoot(
  { tree, served, from }: LegacyTrees,
  wanted: WantedBoot,
): Promise<LookedBoot> {
  const { instance, macs, hosts } = wanted;
  const found = hosts.map((host) => treeOf(from, host)).filter((one) => one !== null);
  const olds = [...new Set(found)];
  const none = { changes: [], sources: new Map<ImageName, string>() };
  // A tree that both hosts share has it already.
  const files = [...olds, tree];
  const texts: string[] = [];
  for (const one of files) {
    const content = await readText(one, `${instance}/config`);
    if (content.kind === "text" && bootsOf(content.text) !== null) texts.push(content.text);
  }
  const [text] = texts;
  const roots = new Set([...texts.map(bootsOf), wanted.root_uuid].filter((one) => one !== null));
  const [root_uuid, other] = [...roots];
  if (root_uuid === undefined)
    return { ...none, root_uuid: null, why: "its root filesystem is not known" };
  if (other !== undefined)
    return { ...none, root_uuid, why: `its root filesystem is ${root_uuid} or ${other}` };
  const made = text === undefined ? wanted.render(root_uuid) : rehomed(text, instance, served);
  if (made === null)
    return { ...none, root_uuid, why: "its boot file can be neither copied nor written anew" };
  const sources = await sourcesOf(olds, instance);
  const boot: LegacyBoot = { instance, macs, served, text: made };
  const seen = await Promise.all(
    legacyPaths(boot).map(async (path) => [path, await seenAt(tree, path)] as const),
  );
  const staged = legacyStage(boot, new Map(seen), new Set(sources.keys()));
  return { ...staged, root_uuid, sources };
}

async function seenAt(tree: Tree, path: string) {
  const found = await inspect(tree.root, path);
  if (found.kind !== "file" || !path.endsWith("/config")) return found;
  const content = await readText(tree, path);
  return content.kind === "text" ? { ...found, text: content.text } : found;
}

/** Images of the old hosts' trees, where they are there and not empty. */
async function sourcesOf(
  olds: readonly Tree[],
  instance: string,
): Promise<ReadonlyMap<ImageName, string>> {
  const found = new Map<ImageName, string>();
  for (const old of olds)
    for (const image of IMAGES) {
      const path = `${instance}/${image}`;
      if (!found.has(image) && (await sizeOf(old, path)))
        found.set(image, await realpath(join(old.root, path)));
    }
  return found;
}

/**
 * Puts there what a tree lacks. Safe to run again: what is there already is not written.
 *
 * @param begin hears of the steps before the first is made
 * @throws MigrationError N2I-E300 where a name is not as it was looked at
 */
export async function buildBoot(
  { root }: Tree,
  { changes, sources }: LookedBoot,
  begin: (steps: readonly BootStep[]) => Promise<void>,
  pause: (point: string) => Promise<void>,
): Promise<void> {
  if (changes.length === 0) return;
  const ready: (readonly [BootStep, Source | null])[] = [];
  for (const change of changes) ready.push(await readyOf(change, sources));
  await begin(ready.map(([step]) => step));
  const owner = { mode: 0o644, ...(await ownerIn(root)) };
  for (const [step, source] of ready) {
    await perform(root, step, source, owner, pause);
    await pause("boot.step");
  }
}

async function readyOf(
  change: LegacyChange,
  sources: LookedBoot["sources"],
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
      const file = sources.get(change.image);
      if (file === undefined) throw new Error(`${path} is to be copied from nowhere`);
      const sha256 = await digestOf(file).catch((cause: unknown) => {
        throw new MigrationError("N2I-E410", `cannot read ${file}`, { cause });
      });
      return [step({ kind: "file", sha256 }), { file }];
    }
  }
}

/** Takes back what was built, last first; what somebody changed since stays. @returns what stayed, and why */
export async function removeBoot(
  root: string,
  steps: readonly BootStep[],
  pause: (point: string) => Promise<void>,
): Promise<readonly string[]> {
  const left: string[] = [];
  for (const step of steps.toReversed()) {
    await sweep(root, step.path);
    const undone = await undoStep(root, step, null, pause);
    // Links of other machines are in there.
    const shared = step.path === "pxelinux.cfg";
    if (typeof undone === "object" && !shared) left.push(undone.left);
  }
  return left;
}
