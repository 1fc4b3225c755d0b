import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync, type Stats } from "node:fs";
import { join, relative } from "node:path";
import type { TestContext } from "node:test";
import { type Case, caseUuid } from "../cases/case.ts";
import { writeCase, writeTree } from "../cases/write-case.ts";
import { runs, run as runTool, start } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { acceptOf } from "../hostile/fleet.ts";

export type Entries = NonNullable<Case["tftp"]>[string];

export function rootOf(id: number): string {
  return `6f0ed4a2-2f3a-4b8e-9d58-3f7ef2a1c${String(id).padStart(3, "0")}`;
}

export const KEY = "ONETIMEKEYONETIMEKEYONETIMEKEY42";
export const nodeOf = (id: number): string => caseUuid("node", id);
const instanceOf = (id: number): string => caseUuid("instance", id);
export const linkPath = (id: number): string =>
  `pxelinux.cfg/01-52-54-00-00-00-${id.toString(16).padStart(2, "0")}`;

/** The form of nova-baremetal's file, once the deploy helper switched it. @source facts/nova-bm.md 3.5 */
export function novaTree(id: number, root = "/tftpboot"): Entries {
  const at = `${root}/${instanceOf(id)}`;
  return {
    [`${instanceOf(id)}/config`]: [
      "default boot\n\nlabel deploy",
      `kernel ${at}/deploy_kernel`,
      `append initrd=${at}/deploy_ramdisk selinux=0 deployment_id=${id} deployment_key=${KEY}`,
      "ipappend 3\n\n\nlabel boot",
      `kernel ${at}/kernel`,
      `append initrd=${at}/ramdisk root=UUID=${rootOf(id)} ro nofb nomodeset vga=normal `,
    ].join("\n"),
    [`${instanceOf(id)}/kernel`]: `kernel of ${id}\n`,
    [`${instanceOf(id)}/ramdisk`]: `ramdisk of ${id}\n`,
    [linkPath(id)]: { link: `${at}/config` },
  };
}

/** The form of the file a takeover leaves, by the tenant's label; what is the tenant's is filled in or not. */
export function ironicConfig(
  id: number,
  label: string,
  { chosen = "deploy", root = "{{ ROOT }}" } = {},
): string {
  const at = `/tftpboot/${nodeOf(id)}`;
  return [
    `default ${chosen}\n\nlabel deploy`,
    `kernel ${at}/deploy_kernel`,
    `append initrd=${at}/deploy_ramdisk rootfstype=ramfs deployment_key=${KEY} text`,
    `ipappend 3\n\n\nlabel ${label}`,
    `kernel ${at}/kernel`,
    `append initrd=${at}/ramdisk root=${root} ro text nofb nomodeset vga=normal`,
  ].join("\n");
}

/** What Juno's takeover leaves of a machine. @source facts/ironic.md 2.3 */
export function takenOver(id: number, label = "boot"): Entries {
  return {
    [`${nodeOf(id)}/config`]: ironicConfig(id, label),
    [`${nodeOf(id)}/kernel`]: `kernel of ${id}\n`,
    [`${nodeOf(id)}/ramdisk`]: `ramdisk of ${id}\n`,
    [linkPath(id)]: { link: `/tftpboot/${nodeOf(id)}/config` },
  };
}

/** Machines that run their tenants, planned; and a conductor's tree that holds what the test says. */
export async function bootScene(
  t: TestContext,
  release: string,
  ids: readonly number[],
  entries: Entries,
  set: { readonly [field: string]: string } = {},
) {
  const folder = privateFolder(t);
  const given: Case = {
    shows: "machines that must boot",
    nova_bm: {
      nodes: ids.map((id) => ({
        ...{ id, instance_uuid: instanceOf(id), task_state: "active", ephemeral_mb: 0 },
        ...{ pxe_config_path: `/tftpboot/${instanceOf(id)}/config`, root_mb: 40960, swap_mb: 1 },
      })),
    },
    tftp: { "*": Object.assign({ "pxelinux.cfg": null }, ...ids.map((id) => novaTree(id))) },
    site: {
      format: "nova2ironic/site@1",
      machines: [
        {
          match: {},
          set: { deploy_kernel: caseUuid("vif", 8), deploy_ramdisk: caseUuid("vif", 9), ...set },
          accept: acceptOf("N2I-D403"),
        },
      ],
    },
    ironic: { release },
    allow_pairing: release !== "juno",
  };
  const written = await writeCase(given, folder);
  const [run, tree, old] = [join(folder, "run"), join(folder, "tree"), join(folder, "tftp-0")];
  writeTree(tree, { ...entries });
  await runs(0, ["extract", "--run", run, ...written.extract]);
  await runs(0, ["plan", "--run", run, ...written.ironic, ...written.plan]);
  const words = ["boot", "--run", run, "--tftp-root", tree, "--served-as", "/tftpboot"];
  return {
    ...{ run, tree, old, ironic: written.ironic },
    start: (options: readonly string[], failpoint: string) =>
      start([...words, "--from", old, ...options], { env: { NOVA2IRONIC_FAILPOINT: failpoint } }),
    does: (...options: readonly string[]) => runTool([...words, "--from", old, ...options]),
    boot: (status: number, ...options: readonly string[]) =>
      runs(status, [...words, "--from", old, ...options]),
    digest: () => treeDigest(tree),
    read: (path: string) => readFileSync(join(tree, path), "utf8"),
  };
}

export type BootScene = Awaited<ReturnType<typeof bootScene>>;

/** Node 24 would read on in a folder that a link leads to. */
function namesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? [path, ...namesBelow(path)] : [path];
  });
}

/** Names, kinds, modes, owners, targets and bytes of a tree. */
export function treeDigest(root: string): string {
  const names = namesBelow(root)
    .map((path) => relative(root, path))
    .sort();
  const lines = names.map((name) => {
    const at = join(root, name);
    const found = lstatSync(at);
    const content = found.isSymbolicLink()
      ? readlinkSync(at)
      : found.isFile()
        ? digestOf(at, found)
        : "";
    return [name, found.mode.toString(8), found.uid, found.gid, content].join(" ");
  });
  return lines.join("\n");
}

/** What nobody wrote into holds zeros alone, be it a gigabyte. */
function digestOf(file: string, { blocks, size }: Stats): string {
  if (blocks === 0 && size > 2 ** 20) return `${size} zeros`;
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}
