import { grouped } from "../../lib/grouped.ts";
import { isObject, type Json } from "../../lib/json.ts";
import type { Row } from "../machine.ts";

interface Changed {
  readonly planned: Json;
  readonly found: Json;
  /** Last part of the field name. */
  readonly key: string;
}

/** Both rows, whose other fields show who made the change. */
interface Rows {
  readonly planned: Row;
  readonly found: Row;
}

/** A field that Ironic, or Nova's driver for it, writes on an idle machine. */
interface ServiceField {
  /** `power_state`, `instance_info.image_type`, `*_interface`, `driver_internal_info.*`. */
  readonly field: string;
  /** Always, or only if the plan leaves the field empty. */
  readonly when: "always" | "empty";
  /** First and last release of Ironic, or of Nova if it writes the field. */
  readonly since: string;
  readonly until?: string;
  /** Condition on the written value. A user wrote other values. Absent: no condition. */
  readonly only?: (change: Changed, rows: Rows) => boolean;
}

/**
 * Whether a conductor set the maintenance after a failed power reading: Rocky and later set
 * `fault`. Earlier releases set a reason. Juno has neither, so the error decides.
 */
function gaveUp(_: Changed, { found: { fault, maintenance_reason: reason, last_error } }: Rows) {
  const text = String(reason === undefined ? last_error : reason);
  const hasFailed = text.startsWith("During sync_power_state, max retries exceeded for node ");
  return fault === "power failure" || hasFailed;
}

/** Keys in `driver_internal_info` of a deployment, cleaning, service or ramdisk: it was used. */
const USED: ReadonlySet<string> = new Set([
  ...["agent_last_heartbeat", "agent_secret_token", "agent_url", "agent_version"],
  ...["agent_cached_clean_steps", "agent_cached_deploy_steps", "clean_steps", "deploy_steps"],
  ...["hardware_manager_version", "service_steps"],
]);

function isIdle({ key, found }: Changed): boolean {
  return found === null || !USED.has(key);
}

/** During a rolling upgrade, rows are saved in the pinned older version. */
function isOlder({ planned, found }: Changed): boolean {
  const [major, minor = 0] = String(planned).split(".").map(Number);
  const [of, at = Number.NaN] = String(found).split(".").map(Number);
  return of === major && at <= minor;
}

function inside(row: Row, column: string, key: string): Json | undefined {
  const object = row[column] ?? null;
  return isObject(object) ? object[key] : undefined;
}

function hasImage(_: Changed, { planned }: Rows): boolean {
  return inside(planned, "instance_info", "image_source") !== undefined;
}

/** The ramdisk interface stores the given image under another name. */
function isRenamed(_: Changed, { planned, found }: Rows): boolean {
  const plannedImage = inside(planned, "instance_info", "image_source");
  const originalImage = inside(found, "instance_info", "original_image_source");
  return plannedImage !== undefined && originalImage === plannedImage;
}

/** Nova plugs an attached VIF again, which the port has in another field. */
function isSameVif({ found }: Changed, { planned }: Rows): boolean {
  const marked = inside(planned, "extra", "nova_bm") ?? null;
  const savedVif = isObject(marked) ? marked.vif_port_id : undefined;
  return found === (inside(planned, "extra", "vif_port_id") ?? savedVif);
}

function always(
  field: string,
  since: string,
  more: Pick<ServiceField, "only" | "until"> = {},
): ServiceField {
  return { field, when: "always", since, ...more };
}

function empty(...row: Parameters<typeof always>): ServiceField {
  return { ...always(...row), when: "empty" };
}

/**
 * Fields that conductors and Nova's driver write on an idle machine, from the source of every
 * release from Juno to 2026.1. 2023.1 was also tested.
 * @source facts/ironic.md 1.6, 2.2, 2.3
 */
export const SERVICE_FIELDS: readonly ServiceField[] = [
  // Ironic's conductor/manager.py do_sync_power_state, conductor/utils.py node_power_action
  always("power_state", "juno"),
  always("target_power_state", "juno"),
  // conductor/manager.py _do_takeover
  always("conductor_affinity", "juno"),
  // conductor/task_manager.py. After a failed takeover last_error is set: verify --takeover reports it.
  always("reservation", "juno"),
  always("last_error", "juno"),
  // db/sqlalchemy/models.py, objects/base.py do_version_changes_for_db
  always("updated_at", "juno"),
  always("version", "pike", { only: isOlder }),
  // conductor/manager.py handle_sync_power_state_max_retries_exceeded
  always("maintenance", "juno", { only: gaveUp }),
  always("maintenance_reason", "kilo", { only: gaveUp }),
  always("fault", "rocky", { only: gaveUp }),
  // conductor/utils.py node_cache_boot_mode, node_cache_health, node_cache_vendor
  always("boot_mode", "xena"),
  always("secure_boot", "xena"),
  always("health", "2026.1"),
  empty("properties.vendor", "train"),
  // common/driver_factory.py check_and_update_node_interfaces: the default of a missing interface
  empty("*_interface", "newton"),
  // conductor/utils.py and drivers. Not writable through the API.
  empty("driver_internal_info.*", "kilo", { only: isIdle }),
  // drivers/modules/iscsi_deploy.py build_deploy_ramdisk_options
  empty("instance_info.deploy_key", "juno", { until: "kilo" }),
  // drivers/modules/pxe.py _get_image_info, common/pxe_utils.py: if it boots from the network
  empty("instance_info.kernel", "juno", { only: hasImage }),
  empty("instance_info.ramdisk", "juno", { only: hasImage }),
  // conductor/utils.py update_image_type: if Glance answers, or kernel and ramdisk are set
  empty("instance_info.image_type", "yoga", {
    only: ({ found }) => found === "partition" || found === "whole-disk",
  }),
  // drivers/modules/ramdisk.py _resolve_image_info_from_glance
  always("instance_info.image_source", "2026.1", { only: isRenamed }),
  empty("instance_info.original_image_source", "2026.1", { only: isRenamed }),
  empty("instance_info.boot_iso", "2026.1", { only: isRenamed }),
  always("driver_internal_info.is_whole_disk_image", "2026.1", { only: isRenamed }),
  // nova/virt/ironic/driver.py plug_vifs
  empty("internal_info.tenant_vif_port_id", "ocata", { only: isSameVif, until: "stein" }),
];

const BY_NAME = grouped(SERVICE_FIELDS, ({ field }) => field);

/**
 * Whether the service itself wrote the difference, so that the row still matches the plan, in the
 * database and over REST.
 * @param field `power_state`, `instance_info.image_type`
 */
export function isServiceField(field: string, change: Omit<Changed, "key">, rows: Rows): boolean {
  const dot = field.indexOf(".");
  const key = field.slice(dot + 1);
  const group =
    dot < 0 ? field.replace(/^.*_interface$/, "*_interface") : `${field.slice(0, dot)}.*`;
  return [...new Set([field, group])]
    .flatMap((name) => BY_NAME.get(name) ?? [])
    .some(
      ({ when, only }) =>
        (when === "always" || isNothing(change.planned)) &&
        (only === undefined || only({ ...change, key }, rows)),
    );
}

/** Ironic treats NULL and an empty object as equal. @source facts/ironic.md 1.5 */
export function isNothing(value: Json): boolean {
  return value === null || (typeof value === "object" && Object.keys(value).length === 0);
}
