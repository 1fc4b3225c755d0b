import { capabilitiesOf } from "../../lib/capabilities.ts";
import { isObject, type JsonObject, objectOf, parsedJson } from "../../lib/json.ts";
import { isUuid } from "../../lib/uuid.ts";
import { customClass } from "../../migrate/flavors/rules/flavors.ts";
import { FAKE } from "../../model/ironic/fake-hardware.ts";
import type { FlavorResources, ServerImage, ServerWishes } from "../../model/ironic/manage.ts";
import { MASKED, masked } from "../../model/ironic/masked.ts";
import { type Conductor, enabledBy, type Service } from "../../model/ironic/service.ts";

interface NovaNode {
  readonly node: JsonObject;
  readonly request: ServerWishes;
  readonly hasVolumes: boolean;
  /** Interfaces that only a newer microversion shows. */
  readonly unseen: readonly string[];
  readonly children: readonly string[];
  /** Placement's inventory by resource class; null: no nova-compute reports the node. */
  readonly offered: ReadonlyMap<string, number> | null;
  readonly required: FlavorResources | null;
  /** The image in Glance; null: unknown. */
  readonly image: ServerImage | "none" | null;
  readonly conductors: readonly Conductor[];
  readonly interfaces: Service["interfaces"];
  /** Uuid of the login's project; null: unknown. */
  readonly project: string | null;
  readonly addresses: readonly string[];
  /** Neutron ports for the server, by id; null: missing. */
  readonly ports: ReadonlyMap<string, JsonObject | null>;
}

const CRITERIA: readonly ((of: NovaNode) => string | readonly string[] | null)[] = [
  ({ node }) =>
    node.console_enabled === true
      ? "its console is enabled, so Ironic cannot change its driver: disable the console first"
      : null,
  ({ node }) => (node.driver === FAKE ? `its driver ${FAKE} does not control hardware` : null),
  ({ node }) =>
    node.power_state === "power on" || node.power_state === "power off"
      ? null
      : `Ironic does not know whether it is on: power_state is ${String(node.power_state ?? "null")}`,
  ({ node }) =>
    (node.target_power_state ?? null) === null
      ? null
      : `its power is being changed: target_power_state is ${String(node.target_power_state)}`,
  ({ unseen }) =>
    unseen.length === 0
      ? null
      : `this Ironic is newer than the supported releases, and would reset fields that cannot be restored: ${unseen.join(", ")}`,
  ({ node }) =>
    typeof node.fault === "string" && node.fault !== "" ? `it has a fault: ${node.fault}` : null,
  ({ node: { parent_node: parent = null, driver_info: info } }) => {
    const dedicated = isObject(info) ? info.has_dedicated_power_supply : null;
    return parent === null || TRUE.test(String(dedicated))
      ? null
      : `its parent is node ${String(parent)}, which Ironic powers on first, also with fake hardware`;
  },
  ({ children }) =>
    children.length === 0
      ? null
      : `it has child nodes, which Ironic powers off first, also with fake hardware: ${children.join(", ")}`,
  ({ node }) =>
    node.disable_power_off === true && node.power_state === "power off"
      ? "it is off, and disable_power_off prevents Nova from stopping its server"
      : null,
  ({ node, conductors }) => {
    const serving = conductorsOf(node, conductors);
    return serving.length > 0 && serving.every(({ drivers }) => drivers.includes(FAKE))
      ? null
      : `hardware type ${FAKE} is not enabled on the conductors of its group`;
  },
  ({ node, conductors, interfaces }) => {
    const enabled = enabledBy(interfaces, conductorsOf(node, conductors), FAKE);
    const missing = ["network", "storage"].filter((one) => enabled.get(one)?.has("noop") === false);
    return missing.length === 0
      ? null
      : `the conductors of its group have no ${missing.join(" and no ")} interface noop for ${FAKE}`;
  },
  ({ hasVolumes }) => (hasVolumes ? "it has volumes, which Nova would remove" : null),
  ({ node }) =>
    bootsFromNet(node) ? "it boots from the network, and its boot files would be deleted" : null,
  ({ node, request }) =>
    node.network_interface === "neutron" && !request.cut
      ? "its network_interface is neutron, and Nova unbinds its ports for some time: pass --accept-network-cut"
      : null,
  ({ node }) => hasSecrets(node),
  ({ node, required, request }) => {
    if (required === null) return `Nova has no flavor ${request.flavor}`;
    const resourceClass = customClass(String(node.resource_class));
    return required.resources.get(resourceClass) === 1
      ? null
      : `flavor ${request.flavor} does not request resources:${resourceClass}=1`;
  },
  ({ offered }) =>
    offered === null ? "no nova-compute reports it: Placement has no inventory of it" : null,
  ({ node, required, offered, request }) => {
    const custom = customClass(String(node.resource_class));
    const more = [...(required?.resources ?? [])].filter(
      ([name, amount]) => name !== custom && offered !== null && (offered.get(name) ?? 0) < amount,
    );
    if (more.length === 0) return null;
    const [all, none] = [1, 0].map((times) =>
      more.map(([name, amount]) => `resources:${name}=${amount * times}`).join(", "),
    ) as [string, string];
    return `flavor ${request.flavor} also requests ${all}, which this node does not have in Placement: set ${none} on the flavor`;
  },
  ({ node, required, request }) => {
    const traits = Array.isArray(node.traits) ? node.traits : null;
    // Other traits are Nova's or the operator's, and unknown to Ironic.
    const wrong = [...(required?.traits ?? [])].filter(
      ([name, how]) =>
        /^CUSTOM_/.test(name) && traits !== null && traits.includes(name) !== (how === "required"),
    );
    return wrong.length === 0
      ? null
      : `flavor ${request.flavor} has ${wrong.map(([name, how]) => `trait:${name}=${how}`).join(", ")}, but the node's traits are ${traits?.join(", ") || "none"}`;
  },
  ({ node, required, request }) => {
    const other = ACTED_ON.flatMap((name) => {
      const [must, has] = [required?.capabilities.get(name), capabilityNow(node, name)];
      return must === undefined || must.toLowerCase() === has ? [] : [{ name, must, has }];
    });
    if (other.length === 0) return null;
    const [expected, has] = [
      other.map((one) => `capabilities:${one.name}=${one.must}`).join(", "),
      other.map((one) => `${one.name} ${one.has || "unknown"}`).join(", "),
    ];
    const isUnsaid = other.some(({ name, has }) => name === "boot_mode" && has === "");
    const hint = isUnsaid
      ? ": if the flavor is right, set the value in the node's properties.capabilities"
      : "";
    return `flavor ${request.flavor} has ${expected}, which Ironic would set on the machine, but the node has ${has}${hint}`;
  },
  (of) => imageFaults(of, imageFor(of)),
  (of) => [...of.ports].flatMap(([id, port]) => portFaults(of, id, port)),
];

const GIB = 2 ** 30;

/**
 * Nova's checks of the image, which fail only when the server is created.
 *
 * @source nova 26: compute/api.py, _validate_flavor_image
 */
function imageFaults(
  { image, required: limits, request: { flavor } }: NovaNode,
  id: string | null,
): readonly string[] {
  if (id === null) return ["instance_info.image_source is not an image id: pass --image"];
  if (image === null) return [];
  if (image === "none") return [`Glance has no image ${id}: pass --image`];
  const { status, size, min_ram: ram, min_disk: disk } = image;
  if (status !== "active") return [`image ${id} is ${status} in Glance: pass --image`];
  if (limits === null) return [];
  const has = `flavor ${flavor} has`;
  const faults: string[] = [];
  if (ram > limits.ram) faults.push(`image ${id} needs min_ram ${ram}, ${has} ${limits.ram}`);
  // Nova reads a root disk of 0 as no limit.
  if (limits.root === 0) return faults;
  if (disk > limits.root) faults.push(`image ${id} needs min_disk ${disk}, ${has} ${limits.root}`);
  if (size !== null && size > limits.root * GIB)
    faults.push(`image ${id} has ${size} bytes, ${has} a root disk of ${limits.root} GiB`);
  return faults;
}

function portFaults(
  { project, node, addresses }: NovaNode,
  id: string,
  port: JsonObject | null,
): readonly string[] {
  if (port === null) return [`port ${id} is not in Neutron`];
  const { device_id: device, project_id: owner, mac_address: mac } = port;
  const faults: string[] = [];
  if (!addresses.includes(String(mac).toLowerCase()))
    faults.push(
      `port ${id} has MAC ${String(mac)}, but the node has ${addresses.join(", ") || "none"}`,
    );
  if (![null, undefined, "", node.uuid].includes(device as string | null))
    faults.push(`port ${id} belongs to device ${String(device)}`);
  if (project !== null && owner !== project)
    faults.push(`port ${id} belongs to another project, and Nova would reject it`);
  // Neutron omits the field for other logins. @source neutron: conf/policies/port.py,
  // get_port:binding:host_id
  if (!("binding:host_id" in port))
    faults.push(
      `binding:host_id of port ${id}, which Nova clears, is not visible with these credentials: use administrator credentials`,
    );
  return faults;
}

/** @source ironic 28.0: conductor/utils.py, node_power_action */
const TRUE = /^(true|yes|on|1)$/i;

function conductorsOf(
  { conductor_group: nodeGroup }: JsonObject,
  conductors: readonly Conductor[],
): readonly Conductor[] {
  const group = String(nodeGroup ?? "").toLowerCase();
  return conductors.filter((one) => one.alive && (one.group ?? "") === group);
}

/** Why instance_info cannot be saved in the journal, or null. Ironic masks secrets. */
export function hasSecrets({ instance_info: info = null }: JsonObject): string | null {
  const text = JSON.stringify(info);
  return text === JSON.stringify(masked(info)) && !text.includes(`"${MASKED}"`)
    ? null
    : "its instance_info has secrets, which could not be restored";
}

export function novaRejections(of: NovaNode): readonly string[] {
  return CRITERIA.flatMap((fails) => fails(of) ?? []);
}

/** The image id of the server, from `ID` or `glance://ID`; null if unknown. */
export function imageFor({ node, request }: Pick<NovaNode, "node" | "request">): string | null {
  if (request.image !== null) return request.image;
  const { instance_info: info } = node;
  const source = isObject(info) ? info.image_source : null;
  const id = typeof source === "string" ? source.replace(/^glance:\/\//, "") : "";
  return isUuid(id) ? id.toLowerCase() : null;
}

/** Capabilities that Ironic applies through the BMC at takeover, and Nova copies from flavors. */
const ACTED_ON = ["boot_mode", "boot_option", "secure_boot", "trusted_boot"] as const;

/**
 * The current value in lower case, or empty. `properties` show only the support of secure boot.
 *
 * @source ironic 21.4: drivers/modules/boot_mode_utils.py, get_boot_mode_for_deploy,
 * is_secure_boot_requested
 */
function capabilityNow(
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
function bootsFromNet({
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
