import type { JsonObject } from "../../lib/json.ts";
import type { BootPlan } from "../../model/boot.ts";
import { type Finding, findingIf } from "../../model/findings.ts";
import type { HostConfig, Machine } from "../../model/machine.ts";
import type { TargetDoc } from "../../model/mapping.ts";
import { rootUuid } from "../../systems/tftp/rules/harvest.ts";
import { inFolder } from "../../systems/tftp/rules/paths.ts";

/** nova-baremetal's kernel arguments, if there is no boot file. */
const ARGS = "ro";

function specifiedRoot(set: JsonObject): string | null {
  return typeof set.root_uuid === "string" ? set.root_uuid : null;
}

/** Kernel arguments of the instance from its boot file, without `root=`. */
function argsOf({ boot }: Machine): string {
  return (boot?.kind === "read" && boot.config.boot?.args) || ARGS;
}

/** Whether this machine needs the ramdisk interface to boot. @source facts/ironic.md 2.5 */
export function bootsAsRamdisk(set: JsonObject, target: TargetDoc): boolean {
  return target.boot === "local" && set.deploy_interface === "ramdisk";
}

/** The root filesystem of an instance, from the site document or else the boot file. */
export function bootSource(machine: Machine, set: JsonObject, target: TargetDoc) {
  const harvested = rootUuid(machine);
  const root = specifiedRoot(set) ?? harvested;
  return {
    root_uuid: harvested,
    // Only for the ramdisk interface. Every other interface passes the value to the deploy ramdisk.
    kernel_append_params:
      root !== null && bootsAsRamdisk(set, target) ? `root=UUID=${root} ${argsOf(machine)}` : null,
  };
}

/** The input of `boot`. Undefined if the root filesystem is unknown. */
export function bootPlan(
  machine: Machine,
  conf: HostConfig | null,
  set: JsonObject,
  target: TargetDoc,
): BootPlan | undefined {
  const root = specifiedRoot(set) ?? rootUuid(machine);
  if (root === null) return undefined;
  const label = machine.boot?.kind === "read" ? machine.boot.config.boot : null;
  const file = (path: string | null | undefined): string | null =>
    path ? inFolder(path, conf?.tftp_root ?? "/tftpboot", machine.node.instance_uuid ?? "") : null;
  return {
    root_uuid: root.toLowerCase(),
    args: argsOf(machine),
    label: bootsAsRamdisk(set, target) ? "boot_ramdisk" : target.boot_label,
    kernel: file(label?.kernel),
    ramdisk: file(label?.ramdisk),
    dhcp: conf === null ? null : { server: conf.my_ip ?? null, file: conf.pxe_bootfile_name },
  };
}

/** Finds two different sources of one filesystem. */
export function inspectRoots(machine: Machine, set: JsonObject, where: string): readonly Finding[] {
  const [site, file] = [specifiedRoot(set)?.toLowerCase(), rootUuid(machine)];
  const differ = site !== undefined && file !== null && site !== file;
  return findingIf(differ, "N2I-D708", where, `site document ${site}, boot file ${file}`);
}
