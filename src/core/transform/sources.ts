import type { Json, JsonObject } from "../../model/json.ts";
import { columnsOf, type HostConfig, type Machine } from "../../model/machine.ts";
import type { DriverRow, Mapping, StateOutcome } from "../../model/mapping.ts";
import { bootSource } from "./boot.ts";
import type { RuleSources } from "./compile.ts";
import { fitting } from "./hardware.ts";

const NO_FIELDS = {};

/** capabilities as Ironic writes them: `k1:v1,k2:v2`. @source facts/ironic.md 3.3 */
function capabilities(conf: HostConfig | null, mapping: Mapping): string {
  return Object.entries({ ...conf?.extra_specs, ...mapping.target.capabilities })
    .map(([key, value]) => `${key}:${value}`)
    .join(",");
}

/** bm_nodes.ephemeral_mb is stale on released nodes and NULL before version 9; GiB, or nothing. */
function ephemeralGb({ node, nova }: Machine): number | null {
  const mb = node.ephemeral_mb;
  return nova?.instance || typeof mb !== "number" || mb <= 0 ? null : Math.ceil(mb / 1024);
}

/**
 * Whether Nova would tear the machine down by its instance, which maintenance does not keep it from:
 * such a node is not to name it.
 *
 * @source facts/ironic.md 5.2; facts/rehearsal.md 5
 */
function isReaped({ nova }: Machine): boolean {
  return nova?.instance?.deleted === true;
}

/** A machine that the site document leaves unprotected has no reason for it: Ironic refuses one alone. */
function stateOf(fields: JsonObject, site: JsonObject): JsonObject {
  return site.protected === false ? { ...fields, protected_reason: null } : fields;
}

/** What is settled of a machine before the rules run. */
interface Settled {
  readonly conf: HostConfig | null;
  readonly driver: DriverRow;
  readonly outcome: StateOutcome;
  /** What the site document sets. */
  readonly site: JsonObject;
}

/**
 * What the rules of the node table may read, by place.
 *
 * @source facts/nova-bm.md 3.1-3.2, 4.1, 5.4
 */
export function nodeSources(
  machine: Machine,
  { conf, driver, outcome, site }: Settled,
  mapping: Mapping,
): RuleSources {
  const { node, nova } = machine;
  const { target, states } = mapping;
  const flavor = nova?.instance?.flavor ?? null;
  const keeps = states.outcomes[outcome].instance && !isReaped(machine);
  const usual = target.drivers[driver.name];
  const fields: { readonly [field: string]: Json } = {
    capabilities: capabilities(conf, mapping),
    ephemeral_gb: ephemeralGb(machine),
    released_instance: keeps ? null : node.instance_uuid,
    // ironic's ssh driver takes one of key file and password; nova-baremetal preferred the key.
    ssh_password:
      conf === null || conf.virtual_power_host_key ? null : conf.virtual_power_host_pass,
  };
  return {
    bm_nodes: { ...columnsOf(node), ...(isReaped(machine) && { instance_uuid: null }) },
    nova: nova?.instance ? { ...nova.instance } : null,
    flavor: flavor === null ? null : { swap: flavor.swap, cpu_arch: flavor.extra_specs.cpu_arch },
    image: nova?.instance
      ? {
          kernel_id: nova.instance.system_metadata.image_kernel_id,
          ramdisk_id: nova.instance.system_metadata.image_ramdisk_id,
        }
      : null,
    boot: { ...bootSource(machine, site, target) },
    conf: conf === null ? null : { ...conf },
    site,
    driver: usual ? fitting(usual, site.driver, mapping.hardware) : null,
    state: stateOf(target.states[outcome] ?? NO_FIELDS, site),
    target: {
      node_version: target.versions.node,
      port_version: target.versions.port,
      boot_option: target.boot_option,
      network_interface: target.network_interface,
    },
    machine: fields,
  };
}
