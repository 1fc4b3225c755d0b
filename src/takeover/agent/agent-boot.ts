import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { BATCH } from "../../lib/streams.ts";
import { counted } from "../../lib/text.ts";
import { isUuid } from "../../lib/uuid.ts";
import { read } from "../../systems/database/read.ts";
import { lower, spellings, text } from "../../systems/database/rows.ts";
import { factsOf, uuidOf } from "../../systems/tftp/rules/pxe-config.ts";
import { readText, type Tree } from "../../systems/tftp/tree.ts";
import type { Opening } from "../baremetal/optional-services.ts";
import { publishBoot } from "../leases/leases.ts";
import { instanceOwners } from "../leases/nodes.ts";

/**
 * Publishes changed boot files. A call makes at most one statement, so as not to delay the
 * heartbeat.
 *
 * @returns a function to call once per interval
 */
export function bootRecords(
  { leases, nova, report }: Omit<Opening, "keep">,
  tree: Tree,
  host: string,
): () => Promise<void> {
  const published = new Map<string, string>();
  let round: AsyncGenerator<undefined, void> | null = null;
  async function* publishing(): AsyncGenerator<undefined, void> {
    const changed = await changedFiles(tree, published);
    const uuids = [...changed.keys()];
    if (uuids.length === 0) return;
    const owners = await instanceOwners(leases, uuids);
    const owned = owners.filter(({ service_host }) => service_host === host);
    yield;
    const images = await read(
      nova,
      { uuid: lower, kernel_id: text, ramdisk_id: text },
      "instances WHERE deleted = 0 AND uuid IN (...)",
      spellings(uuids),
    );
    yield;
    const records = await Promise.all(
      uuids
        .filter((uuid) => owned.some((row) => row.instance_uuid.toLowerCase() === uuid))
        .map(async (uuid) => {
          const { kernel_id, ramdisk_id } = images.find((row) => row.uuid === uuid) ?? {};
          const ids = { kernel_id: kernel_id || null, ramdisk_id: ramdisk_id || null };
          return { instance_uuid: uuid, root_uuid: await rootOf(tree, uuid), ...ids };
        }),
    );
    await publishBoot(leases, host, records);
    for (const [uuid, mark] of changed) published.set(uuid, mark);
    const unknown = records.filter(({ root_uuid }) => root_uuid === null).length;
    const without = unknown === 0 ? "" : `. ${unknown} of them have no root filesystem`;
    if (records.length > 0)
      report(`Published the boot files of ${counted(records.length, "machine")}${without}.`);
  }
  return async () => {
    round ??= publishing();
    try {
      if ((await round.next()).done === true) round = null;
    } catch (error) {
      round = null; // the next round repeats it
      throw error;
    }
  };
}

async function changedFiles(
  { root }: Tree,
  published: Map<string, string>,
): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(root)).filter(isUuid);
  const uuids = new Set(names.map((name) => name.toLowerCase()));
  for (const uuid of published.keys()) if (!uuids.has(uuid)) published.delete(uuid);
  const changed = new Map<string, string>();
  for (const name of names) {
    if (changed.size === BATCH) break;
    const found = await stat(join(root, name, "config")).catch(() => null);
    if (found === null) continue;
    const mark = `${found.mtimeMs} ${found.size} ${found.ino}`;
    const uuid = name.toLowerCase();
    if (published.get(uuid) !== mark) changed.set(uuid, mark);
  }
  return changed;
}

/** Null if the boot file does not boot the tenant yet. */
async function rootOf(tree: Tree, uuid: string): Promise<string | null> {
  const content = await readText(tree, `${uuid}/config`);
  if (content.kind !== "text") return null;
  const facts = factsOf(content.text);
  return facts.default === "boot" ? uuidOf(facts.boot?.root ?? null) : null;
}
