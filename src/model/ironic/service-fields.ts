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
  readonly by: "adoption" | "every save" | "nova-compute" | "power sync" | "takeover";
  /** First and last release of Ironic, or of Nova for `nova-compute`. */
  readonly since: string;
  readonly until?: string;
  readonly source: string;
  /** Condition on the written value. A user wrote other values. Absent: no condition. */
  readonly only?: (change: Changed, rows: Rows) => boolean;
}

/** Error of a failed power reading: a text since Juno, `fault` since Rocky. */
const GAVE_UP = "During sync_power_state, max retries exceeded for node ";
const POWER_FAILURE = "power failure";

/** Whether a conductor set the maintenance. Juno has no reason, so its error decides. */
function gaveUp(_: Changed, { found }: Rows): boolean {
  if (found.fault === POWER_FAILURE) return true;
  const { maintenance_reason: reason, last_error } = found;
  return String(reason === undefined ? last_error : reason).startsWith(GAVE_UP);
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

/** For an image in Glance. */
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

const MANAGER = "ironic/conductor/manager.py";
const SYNC = `${MANAGER}: do_sync_power_state`;
const RETRIES = `${MANAGER}: handle_sync_power_state_max_retries_exceeded`;
const UTILS = "ironic/conductor/utils.py";
const CACHED = `${UTILS}: node_cache_boot_mode`;
const OBJECTS = "ironic/objects/base.py: do_version_changes_for_db";
const INTERFACES = "ironic/common/driver_factory.py: check_and_update_node_interfaces";
const ISCSI = "ironic/drivers/modules/iscsi_deploy.py: build_deploy_ramdisk_options";
const PXE = "ironic/drivers/modules/pxe.py: _get_image_info; ironic/common/pxe_utils.py";
const RAMDISK = "ironic/drivers/modules/ramdisk.py: _resolve_image_info_from_glance";

function always(
  field: string,
  by: ServiceField["by"],
  since: string,
  source: string,
  more: Partial<Pick<ServiceField, "only" | "until">> = {},
): ServiceField {
  return { field, when: "always", by, since, source, ...more };
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
  always("power_state", "power sync", "juno", SYNC),
  always("target_power_state", "power sync", "juno", `${UTILS}: node_power_action`),
  always("conductor_affinity", "takeover", "juno", `${MANAGER}: _do_takeover`),
  always("reservation", "every save", "juno", "ironic/conductor/task_manager.py"),
  // A failed takeover, which verify --takeover reports.
  always("last_error", "takeover", "juno", "ironic/conductor/task_manager.py"),
  always("updated_at", "every save", "juno", "ironic/db/sqlalchemy/models.py"),
  always("version", "every save", "pike", OBJECTS, { only: isOlder }),
  always("maintenance", "power sync", "juno", RETRIES, { only: gaveUp }),
  always("maintenance_reason", "power sync", "kilo", RETRIES, { only: gaveUp }),
  always("fault", "power sync", "rocky", RETRIES, { only: gaveUp }),
  always("boot_mode", "power sync", "xena", CACHED),
  always("secure_boot", "power sync", "xena", CACHED),
  always("health", "power sync", "2026.1", `${UTILS}: node_cache_health`),
  // A missing interface is set to the default.
  empty("*_interface", "every save", "newton", INTERFACES),
  empty("properties.vendor", "power sync", "train", `${UTILS}: node_cache_vendor`),
  // Not writable through the API.
  empty("driver_internal_info.*", "takeover", "kilo", `${UTILS} and drivers`, { only: isIdle }),
  empty("instance_info.deploy_key", "takeover", "juno", ISCSI, { until: "kilo" }),
  // From the image in Glance, for a machine that boots from the network.
  empty("instance_info.kernel", "takeover", "juno", PXE, { only: hasImage }),
  empty("instance_info.ramdisk", "takeover", "juno", PXE, { only: hasImage }),
  // If Glance answers, or kernel and ramdisk are set.
  empty("instance_info.image_type", "adoption", "yoga", `${UTILS}: update_image_type`, {
    only: ({ found }) => found === "partition" || found === "whole-disk",
  }),
  always("instance_info.image_source", "takeover", "2026.1", RAMDISK, { only: isRenamed }),
  empty("instance_info.original_image_source", "takeover", "2026.1", RAMDISK, { only: isRenamed }),
  empty("instance_info.boot_iso", "takeover", "2026.1", RAMDISK, { only: isRenamed }),
  always("driver_internal_info.is_whole_disk_image", "takeover", "2026.1", RAMDISK, {
    only: isRenamed,
  }),
  empty(
    "internal_info.tenant_vif_port_id",
    "nova-compute",
    "ocata",
    "nova/virt/ironic/driver.py: plug_vifs",
    { only: isSameVif, until: "stein" },
  ),
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
  const names = [
    field,
    ...(dot >= 0 ? [`${field.slice(0, dot)}.*`] : []),
    ...(dot < 0 && field.endsWith("_interface") ? ["*_interface"] : []),
  ];
  return names
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
