import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import type { Position, WindowPart } from "../../engine/window-part.ts";
import { MigrationError } from "../../lib/error.ts";
import { isObject } from "../../lib/json.ts";
import { bootPart, observedOf } from "../../migrate/boot/boot-steps.ts";
import type { BootStep } from "../../model/boot.ts";
import type { Row } from "../../model/machine.ts";
import { nodeOf, type PlannedMachine } from "../../model/plan.ts";
import type { Seal } from "../../model/secret.ts";
import { failpoint } from "../../run/failpoint.ts";
import { type Owner, ownerIn, perform, type Source, undoStep } from "../../systems/tftp/perform.ts";
import {
  type ObservedState,
  pathsOf,
  type RequiredBoot,
  stage,
  type TreeChange,
} from "../../systems/tftp/rules/stage.ts";
import { digestOf, inspect } from "../../systems/tftp/safe-fs.ts";
import { readText, sizeOf, type Tree, treeOf } from "../../systems/tftp/tree.ts";

export interface BootLocation {
  readonly tree: Tree;
  /** Old trees with kernels and ramdisks. */
  readonly from: readonly Tree[];
  /** The tree's path for the TFTP server. */
  readonly served: string;
}

export interface BootMachine {
  readonly id: string;
  readonly bm_node_id: number;
  readonly request: BootRequest;
}

export interface BootPosition extends Position {
  /** Paths to change, or changed. */
  readonly paths: readonly string[];
  /** The reason why it is skipped, or incomplete. */
  readonly reason: string | null;
  readonly prepared?: Prepared;
}

export async function inspectBoot(
  { request }: BootMachine,
  location: BootLocation,
): Promise<BootPosition> {
  if ("reason" in request) return { is: "other", paths: [], reason: request.reason };
  const prepared = await prepare(request, location);
  const { changes, reason } = prepared;
  const is = reason !== null ? "other" : changes.length === 0 ? "after" : "before";
  return { is, paths: changes.map(({ path }) => path), reason, prepared };
}

/** Stages missing boot files. Machines share folders, so they are inspected one at a time. */
export function stagingPart(at: BootLocation, seal: Seal): WindowPart<BootMachine, BootPosition> {
  const { root } = at.tree;
  return {
    ...{ name: bootPart(root), size: 1 },
    inspect: (changes) => Promise.all(changes.map((change) => inspectBoot(change, at))),
    async perform({ id }, position, begin) {
      const { prepared } = position;
      if (prepared === undefined) throw new Error(`${id} has no boot files to stage`);
      const all: Ready[] = [];
      for (const change of prepared.changes) all.push(await readyOf(id, change, prepared, seal));
      await begin(observedOf(all.map(({ step }) => step)));
      const fresh = { mode: 0o644, ...(await ownerIn(root)) };
      for (const { step, source = null, owner = fresh } of all) {
        await perform(root, step, source, owner, failpoint);
        await failpoint("boot.step");
      }
      return { ...position, is: "after" };
    },
  };
}

/** Rolls back staged files of a tree, last step first. Changed files are skipped. */
export function unstagingPart(
  { root }: Tree,
  seal: Seal,
): WindowPart<{ readonly id: string; readonly steps: readonly BootStep[] }, BootPosition> {
  return {
    ...{ name: bootPart(root), size: 1 },
    // Each file is inspected when it is changed, with its folder open, because an earlier read may
    // be stale.
    inspect: (changes) =>
      Promise.resolve(
        changes.map(({ steps }) => ({ is: "before", paths: pathsIn(steps), reason: null })),
      ),
    async perform({ id, steps }, _, begin) {
      await begin();
      const conflicts = new Map<string, string>();
      for (const step of steps.toReversed()) {
        // A boot file that has changed needs kernel and ramdisk, even if they equal ours.
        if (conflicts.has(`${id}/config`) && step.after.kind === "file") {
          conflicts.set(step.path, `${step.path} is in use`);
          continue;
        }
        const was = step.before?.kind === "file" ? step.before.was : undefined;
        const text = was === undefined ? null : seal.open({ ...was.text, of: `boot:${id}` });
        const undone = await undoStep(root, step, text, failpoint);
        if (typeof undone === "object") conflicts.set(step.path, undone.conflict);
        await failpoint("boot.step");
      }
      const paths = pathsIn(steps);
      if (conflicts.size === 0) return { is: "after", paths, reason: null };
      const remainder = observedOf(steps.filter(({ path }) => conflicts.has(path)));
      return { is: "other", paths, reason: [...conflicts.values()].join("; "), remainder };
    },
  };
}

function pathsIn(steps: readonly BootStep[]): readonly string[] {
  return steps.map(({ path }) => path);
}

interface Ready {
  readonly step: BootStep;
  readonly source?: Source;
  /** Default: as for new files in the tree. */
  readonly owner?: Owner;
}

type Prepared = Awaited<ReturnType<typeof prepare>>;

/** A machine that keeps its instance, or the reason why it cannot be staged. */
type BootRequest =
  | { readonly required: RequiredBoot; readonly host: string | null }
  | { readonly reason: string };

/** Null for a machine without an instance, which has nothing to boot. */
export function bootRequestOf({ records, boot, service_host }: PlannedMachine): BootRequest | null {
  const node = nodeOf(records);
  if (node === undefined || node.provision_state !== "active") return null;
  if (boot === undefined)
    return { reason: "its root filesystem is unknown (extract --tftp-root, or root_uuid)" };
  const { label } = boot;
  if (label === null)
    return {
      reason: "this Ironic removes boot files during takeover, so keep the old TFTP service",
    };
  const macs = records.flatMap(({ resource, row }) =>
    resource === "port" && row.pxe_enabled !== false ? [String(row.address)] : [],
  );
  const instance = instanceOf(node);
  return {
    host: service_host,
    required: { node: String(node.uuid), instance, macs, boot: { ...boot, label } },
  };
}

/** The instance of its boot files, even if it is deleted in Nova and the node does not name it. */
function instanceOf({ instance_uuid, extra }: Row): string {
  if (typeof instance_uuid === "string") return instance_uuid;
  const mark = isObject(extra) ? extra.nova_bm : null;
  return isObject(mark) ? String(mark.instance_uuid) : "";
}

async function prepare(
  { required, host }: Extract<BootRequest, { required: RequiredBoot }>,
  { tree, from, served }: BootLocation,
) {
  const { node, boot } = required;
  const config = `${node}/config`;
  const entries = pathsOf(required).map(async (path): Promise<readonly [string, ObservedState]> => {
    const found = await inspect(tree.root, path);
    if (path !== config || found.kind !== "file") return [path, found];
    const content = await readText(tree, path);
    return [path, content.kind === "text" ? { ...found, text: content.text } : found];
  });
  const observed = new Map(await Promise.all(entries));
  const old = treeOf(from, host) ?? tree;
  const source = async (path: string | null): Promise<string | null> =>
    path !== null && (await sizeOf(old, path)) ? realpath(join(old.root, path)) : null;
  const sources = { kernel: await source(boot.kernel), ramdisk: await source(boot.ramdisk) };
  const { changes, reason } = stage(
    required,
    {
      at: observed,
      source: { kernel: sources.kernel !== null, ramdisk: sources.ramdisk !== null },
      roots: [served, tree.root],
    },
    served,
  );
  return { changes, reason, observed, sources };
}

/** Adds digests: reads files to copy, and seals files to replace. */
async function readyOf(
  node: string,
  change: TreeChange,
  { observed, sources }: Prepared,
  seal: Seal,
): Promise<Ready> {
  const { path } = change;
  const found = observed.get(path);
  switch (change.do) {
    case "folder":
      return { step: { path, before: null, after: { kind: "folder" } } };
    case "link": {
      const before = found?.kind === "link" ? { kind: found.kind, target: found.target } : null;
      return { step: { path, before, after: { kind: "link", target: change.target } } };
    }
    case "copy": {
      const file = sources[change.file];
      if (file === null) throw new Error(`${path} has no source to copy from`);
      const sha256 = await digestOf(file).catch((cause: unknown) => {
        throw new MigrationError("N2I-E410", `cannot read ${file}`, { cause });
      });
      const after = { kind: "file", sha256 } as const;
      return { step: { path, before: null, after }, source: { file } };
    }
    case "write": {
      const after = { kind: "file", sha256: sha256Of(change.text) } as const;
      const source = { text: change.text };
      if (found?.kind !== "file" || found.text === undefined)
        return { step: { path, before: null, after }, source };
      const owner = { mode: found.mode, uid: found.uid, gid: found.gid };
      const was = { text: seal.seal(found.text, `boot:${node}`), ...owner };
      const before = { kind: "file", sha256: sha256Of(found.text), was } as const;
      return { step: { path, before, after }, source, owner };
    }
  }
}

/** The text has one character per byte. */
function sha256Of(text: string): string {
  return createHash("sha256").update(text, "latin1").digest("hex");
}
