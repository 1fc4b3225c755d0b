import { capabilitiesOf } from "../../lib/capabilities.ts";
import { isObject, type JsonObject, objectOf, parsedJson } from "../../lib/json.ts";

/** Capabilities that Ironic applies through the BMC at takeover, and Nova copies from flavors. */
export const ACTED_ON = ["boot_mode", "boot_option", "secure_boot", "trusted_boot"] as const;

/**
 * The current value in lower case, or empty. `properties` show only the support of secure boot.
 *
 * @source ironic 21.4: drivers/modules/boot_mode_utils.py, get_boot_mode_for_deploy,
 * is_secure_boot_requested
 */
export function capabilityNow(
  {
    instance_info: info,
    properties,
    driver_internal_info: internal,
    boot_mode: mode,
    secure_boot: secure,
  }: JsonObject,
  name: (typeof ACTED_ON)[number],
): string {
  const [requested, could] = [info, properties].map((of) => capabilityIn(objectOf(of), name));
  const { deploy_boot_mode: deployed } = objectOf(internal);
  switch (name) {
    case "boot_mode":
      return String(requested ?? could ?? mode ?? deployed ?? "").toLowerCase();
    case "boot_option":
      return requested ?? could ?? "local";
    case "secure_boot":
      return String(requested ?? secure ?? false).toLowerCase();
    case "trusted_boot":
      return requested ?? "false";
  }
}

/** @source ironic: drivers/modules/deploy_utils.py get_boot_option; `deleted` removes root_uuid_or_disk_id */
export function bootsFromNet({
  instance_info: info,
  properties,
  driver_internal_info: internal,
  deploy_interface: deploy,
}: JsonObject): boolean {
  const [chosen, could] = [info, properties].map((of) => capabilityIn(objectOf(of), "boot_option"));
  const option = chosen ?? could ?? null;
  if (option !== null && option !== "local") return true;
  if (deploy === "ramdisk" || deploy === "anaconda") return true;
  const partitions = isObject(internal) && internal.is_whole_disk_image === false;
  return partitions && "root_uuid_or_disk_id" in internal && option !== "local";
}

/** A capability in lower case, or null. `instance_info` has an object or its JSON text. */
function capabilityIn({ capabilities: value = null }: JsonObject, name: string): string | null {
  const parsed = typeof value === "string" ? parsedJson(value) : value;
  return (
    capabilitiesOf(isObject(parsed) ? parsed : value)
      .get(name)
      ?.toLowerCase() ?? null
  );
}
