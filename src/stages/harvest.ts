import { inFolder, linkOf, linkTarget } from "../core/boot/paths.ts";
import { factsOf, parsePxe } from "../core/boot/pxe-config.ts";
import { hostOf } from "../core/transform/driver.ts";
import { portsOf } from "../core/transform/vif.ts";
import { readLink, readText, sizeOf, type Tree, treeOf } from "../edge/tftp/tree.ts";
import type { BootFile } from "../model/boot.ts";
import type { HostConfig, Machine } from "../model/machine.ts";

/** What the trees hold for a machine; nothing where it has no instance. */
export async function harvest(
  machine: Machine,
  trees: readonly Tree[],
  hosts: readonly HostConfig[],
): Promise<BootFile | undefined> {
  const { deleted, instance_uuid, pxe_config_path, service_host } = machine.node;
  if (deleted === true || !instance_uuid) return undefined;
  const tree = treeOf(trees, service_host);
  if (tree === null) return { kind: "no-tree" };
  const root = hostOf(machine, hosts)?.tftp_root ?? "/tftpboot";
  const named =
    typeof pxe_config_path === "string" && pxe_config_path !== ""
      ? pxe_config_path
      : `${instance_uuid}/config`;
  const path = inFolder(named, root, instance_uuid);
  if (path === null) return { kind: "refused", path: named, why: `is not below ${root}` };
  const content = await readText(tree, path);
  if (content.kind !== "text") return { ...content, path };
  const config = factsOf(parsePxe(content.text));
  const size = async (file: string | null | undefined): Promise<number | null> => {
    const at = file ? inFolder(file, root, instance_uuid) : null;
    return at === null ? null : sizeOf(tree, at);
  };
  const links = portsOf(machine).map(async ({ address }) => {
    const target = await readLink(tree, linkOf(address));
    const leads = target === null ? null : linkTarget(target, root, instance_uuid);
    return [address, leads ?? target] as const;
  });
  return {
    kind: "read",
    path,
    config,
    kernel: await size(config.boot?.kernel),
    ramdisk: await size(config.boot?.ramdisk),
    links: Object.fromEntries(await Promise.all(links)),
  };
}
