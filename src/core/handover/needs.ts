import type { Row } from "../../model/machine.ts";
import type { TargetDoc } from "../../model/mapping.ts";

/** Fields of the columns a take-over reads that hold something: `instance_info.image_source`. */
type FilledFields = ReadonlySet<string>;

const ROOT = "driver_internal_info.root_uuid_or_disk_id";
/** Of a machine that boots from its own disk. */
const LOCAL = "capabilities.boot_option=local";

/**
 * Fields that the take-over of a machine in use reads, or its boot file afterwards, and that are not
 * there. Without them a conductor fails without a word, or leaves the machine in deploy mode.
 *
 * @param root what the plan knows of the tenant's root filesystem: Juno has no field for it
 * @source facts/ironic.md 2.3, 2.5; facts/systems.md D4, D-11
 */
export function lacking(
  { takeover, boot, keys, release }: TargetDoc,
  planned: Row,
  root: string | null,
  held: FilledFields,
): readonly string[] {
  if (planned.provision_state !== "active" || planned.maintenance === true) return [];
  const image = takeover === "none" ? [] : ["instance_info.image_source"];
  const deploys = (["deploy_kernel", "deploy_ramdisk"] as const).map(
    (key) => `driver_info.${keys[key] ?? key}`,
  );
  const images = takeover === "deploy-images" ? ["instance_info.root_gb", ...deploys] : [];
  const boots = boot === "edit" || boot === "netboot" ? [ROOT] : [];
  const ramdisk =
    boot === "local" && planned.deploy_interface === "ramdisk"
      ? ["instance_info.kernel", "instance_info.ramdisk", "instance_info.kernel_append_params"]
      : [];
  const needed = [...image, ...images, ...(held.has(LOCAL) ? [] : boots), ...ramdisk];
  const unknown = boot === "deploy" && root === null ? [`root_uuid (${release} keeps none)`] : [];
  return [...needed.filter((field) => !held.has(field)), ...unknown];
}
