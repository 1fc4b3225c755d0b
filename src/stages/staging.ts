import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { type Change, pathsOf, type Seen, stage, type Wanted } from "../core/boot/stage.ts";
import { digestOf, look } from "../edge/tftp/hands.ts";
import type { Owner, Source } from "../edge/tftp/perform.ts";
import { readText, sizeOf, type Tree, treeOf } from "../edge/tftp/tree.ts";
import { MigrationError } from "../model/error.ts";
import { isObject } from "../model/json.ts";
import type { Row } from "../model/machine.ts";
import type { PlannedMachine } from "../model/plan.ts";
import type { Seal } from "../model/secret.ts";
import type { BootStep } from "../model/staging.ts";

/** A step with what performing it takes. */
export interface Ready {
  readonly step: BootStep;
  readonly source: Source | null;
  /** Null: as everything new in the tree. */
  readonly owner: Owner | null;
}

/** A machine with what is to be done for it, or why nothing is. */
export interface Prepared {
  readonly node: string;
  readonly bm_node_id: number;
  readonly changes: readonly Change[];
  readonly why: string | null;
  readonly seen: ReadonlyMap<string, Seen>;
  readonly sources: { readonly kernel: string | null; readonly ramdisk: string | null };
}

/** A machine that keeps its tenant, as `boot` wants it; or why nobody can stage for it. */
export type Asked =
  | { readonly wanted: Wanted; readonly host: string | null }
  | { readonly why: string };

/** Null for a machine without a tenant: nothing has to boot. */
export function askedOf({ records, boot, service_host }: PlannedMachine): Asked | null {
  const node = records.find(({ resource }) => resource === "node")?.row;
  if (node === undefined || node.provision_state !== "active") return null;
  if (boot === undefined)
    return { why: "its root filesystem is unknown (extract --tftp-root, or root_uuid)" };
  const { label } = boot;
  if (label === null)
    return { why: "this Ironic removes boot files at take-over: keep the old TFTP service" };
  const macs = records.flatMap(({ resource, row }) =>
    resource === "port" && row.pxe_enabled !== false ? [String(row.address)] : [],
  );
  const instance = instanceOf(node);
  return {
    host: service_host,
    wanted: { node: String(node.uuid), instance, macs, boot: { ...boot, label } },
  };
}

/** What its boot files are named for, though its node does not name one that is deleted in Nova. */
function instanceOf({ instance_uuid, extra }: Row): string {
  if (typeof instance_uuid === "string") return instance_uuid;
  const mark = isObject(extra) ? extra.nova_bm : null;
  return isObject(mark) ? String(mark.instance_uuid) : "";
}

/** Looks at what a tree holds for a machine, and thinks of what it lacks. */
export async function prepare(
  { wanted, host }: Extract<Asked, { wanted: Wanted }>,
  bm_node_id: number,
  tree: Tree,
  from: readonly Tree[],
  served: string,
): Promise<Prepared> {
  const { node, boot } = wanted;
  const config = `${node}/config`;
  const entries = pathsOf(wanted).map(async (path): Promise<readonly [string, Seen]> => {
    const found = await look(tree.root, path);
    if (path !== config || found.kind !== "file") return [path, found];
    const content = await readText(tree, path);
    return [path, content.kind === "text" ? { ...found, text: content.text } : found];
  });
  const seen = new Map(await Promise.all(entries));
  const old = treeOf(from, host) ?? tree;
  const source = async (path: string | null): Promise<string | null> =>
    path !== null && (await sizeOf(old, path)) ? realpath(join(old.root, path)) : null;
  const sources = { kernel: await source(boot.kernel), ramdisk: await source(boot.ramdisk) };
  const { changes, why } = stage(
    wanted,
    {
      at: seen,
      source: { kernel: sources.kernel !== null, ramdisk: sources.ramdisk !== null },
      roots: [served, tree.root],
    },
    served,
  );
  return { node, bm_node_id, changes, why, seen, sources };
}

/** Steps with their digests: reads what is to be copied, and seals what is to be replaced. */
export async function ready(prepared: Prepared, seal: Seal): Promise<readonly Ready[]> {
  const made: Ready[] = [];
  for (const change of prepared.changes) made.push(await readyOf(change, prepared, seal));
  return made;
}

async function readyOf(
  change: Change,
  { seen, sources, node }: Prepared,
  seal: Seal,
): Promise<Ready> {
  const { path } = change;
  const found = seen.get(path);
  switch (change.do) {
    case "folder":
      return { step: { path, before: null, after: { kind: "folder" } }, source: null, owner: null };
    case "link": {
      const before = found?.kind === "link" ? { kind: found.kind, target: found.target } : null;
      return {
        step: { path, before, after: { kind: "link", target: change.target } },
        ...{ source: null, owner: null },
      };
    }
    case "copy": {
      const file = sources[change.file];
      if (file === null) throw new Error(`${path} is to be copied from nowhere`);
      const sha256 = await digestOf(file).catch((cause: unknown) => {
        throw new MigrationError("N2I-E410", `cannot read ${file}`, { cause });
      });
      const after = { kind: "file", sha256 } as const;
      return { step: { path, before: null, after }, source: { file }, owner: null };
    }
    case "write": {
      const after = { kind: "file", sha256: sha256Of(change.text) } as const;
      const source = { text: change.text };
      if (found?.kind !== "file" || found.text === undefined)
        return { step: { path, before: null, after }, source, owner: null };
      const owner = { mode: found.mode, uid: found.uid, gid: found.gid };
      const was = { text: seal.seal(found.text, `boot:${node}`), ...owner };
      const before = { kind: "file", sha256: sha256Of(found.text), was } as const;
      return { step: { path, before, after }, source, owner };
    }
  }
}

/** Of a text whose characters are bytes. */
function sha256Of(text: string): string {
  return createHash("sha256").update(text, "latin1").digest("hex");
}
