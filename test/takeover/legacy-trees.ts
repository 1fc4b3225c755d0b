import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { QUICK, takenForLost, uuidOf } from "./cloud.ts";
import { LEASE, type LegacyCloud, legacyCloud, moveOf } from "./legacy-cloud.ts";

export const KEY = "ONETIMEKEYONETIMEKEYONETIMEKEY42";
export const IMAGES = ["kernel", "ramdisk", "deploy_kernel", "deploy_ramdisk"];

export const rootOf = (id: number) => `6f0ed4a2-2f3a-4b8e-9d58-${String(id).padStart(12, "0")}`;
export const linkOf = (id: number): string => `pxelinux.cfg/01-52-54-00-00-00-0${id}`;

/** nova-baremetal's own file, byte by byte: one blank after its last word, and no newline. @source facts/nova-bm.md 3.5 */
export function bootFile(id: number, root: string): string {
  const at = `${root}/${uuidOf("instance", id)}`;
  return [
    "default boot\n\nlabel deploy",
    `kernel ${at}/deploy_kernel`,
    `append initrd=${at}/deploy_ramdisk selinux=0 disk=cciss/c0d0,sda,hda,vda iscsi_target_iqn=iqn-${uuidOf("instance", id)} deployment_id=${id} deployment_key=${KEY} troubleshoot=0 nofb nomodeset vga=normal`,
    "ipappend 3\n\n\nlabel boot",
    `kernel ${at}/kernel`,
    `append initrd=${at}/ramdisk root=UUID=${rootOf(id)} ro nofb nomodeset vga=normal `,
  ].join("\n");
}

/** What a machine of A boots from but for its boot file, in a copy of A's tree. */
function writeImages(tree: string, id: number): string {
  const at = join(tree, uuidOf("instance", id));
  mkdirSync(at, { recursive: true });
  for (const image of IMAGES) writeFileSync(join(at, image), `${image} of ${id}\n`);
  return at;
}

export function writeBoot(tree: string, id: number): void {
  writeFileSync(join(writeImages(tree, id), "config"), bootFile(id, "/tftpboot"));
}

/** A copy of A's tree, and B's own, which is empty. */
export function trees({ folder }: LegacyCloud, ids: readonly number[] = [1, 3]) {
  const [old, own] = [join(folder, "old"), join(folder, "tftpboot")];
  for (const id of ids) writeBoot(old, id);
  mkdirSync(own);
  writeFileSync(join(own, "pxelinux.0"), "loader\n");
  return { old, own, words: ["--tftp-root", own, "--tftp-from", `A=${old}`] };
}

/** Copies of what machines of A boot by but for the boot files, whose roots are known; B's tree is empty. */
export function images({ folder }: LegacyCloud, ids: readonly number[]) {
  const [old, own] = [join(folder, "old"), join(folder, "own")];
  for (const tree of [old, own]) mkdirSync(tree, { recursive: true });
  for (const id of ids) writeImages(old, id);
  const rootUuid = ids.map((id) => `${uuidOf("node", id)}=${rootOf(id)}`);
  const roots = rootUuid.flatMap((root) => ["--root-uuid", root]);
  return {
    boot: { tftpRoot: own, tftpFrom: [`A=${old}`], rootUuid },
    words: ["--tftp-root", own, "--tftp-from", `A=${old}`, ...roots],
  };
}

export const PLAN = ["host", "plan", "--from", "A", "--to", "B", ...QUICK];
export const THERE = [1, 2, 3, 4].map((id) => `${id} B 1 ${id % 2 ? "active - | B - 0" : "- - |"}`);

export const ROW = { ...LEASE, epoch: 3, takes: true };

/** What tells that A is down, and where its machines boot from. */
export function words(cloud: LegacyCloud, ...ids: readonly number[]): readonly string[] {
  const takeover = ["host", "takeover", "--from", "A", "--to", "B", ...QUICK];
  return [...takeover, ...images(cloud, ids).words];
}

export async function dead(t: TestContext, more: Parameters<typeof legacyCloud>[1] = {}) {
  const cloud = await legacyCloud(t, { machines: 2, ...more });
  await cloud.bm("bm_nodes").update({ deploy_key: "KEY" });
  return cloud;
}

export const DOWN = ["--confirmed-down", "--yes"];

/** A request lies in A's queue, and the site document takes it for lost. */
export async function asked(cloud: LegacyCloud): Promise<readonly string[]> {
  await cloud.nova("instances").where({ id: 1 }).update({ task_state: "powering-off" });
  return takenForLost(cloud.folder, { uuid: moveOf(1).uuid });
}
