import { type Case, caseUuid } from "../cases/case.ts";
import { SITE, tenant } from "../hostile/fleet.ts";

type Release = NonNullable<NonNullable<Case["ironic"]>["release"]>;

/** Rows Ironic holds before anything is loaded: they must be there, unchanged, after a rollback. */
export const NATIVE = "f0000000-0000-4000-8000-000000000001";
const NATIVE_PORT = "f0000000-0000-4000-8000-000000000002";

/** Tenants boot from the network, which an Ironic of today does not do for them. */
const BOOTS = [{ finding: "N2I-D403", reason: "each has a bootloader by now" }];

/**
 * A deployment of this many machines that all load: every third has a tenant, each one interface,
 * and Ironic holds a node and a port of its own. 1,200 of them are three batches.
 */
export function fleet(machines: number, release: Release = "juno"): Case {
  const ids = Array.from({ length: machines }, (_, at) => at + 1);
  return {
    shows: `${machines} machines that load`,
    nova_bm: {
      nodes: ids.map((id) => ({
        ...(id % 3 === 0 ? tenant(id) : { id }),
        pm_address: `10.0.${id >> 8}.${id & 255}`,
      })),
    },
    ironic: {
      release,
      nodes: [{ uuid: NATIVE, provision_state: "active", power_state: "power on" }],
      ports: [{ uuid: NATIVE_PORT, address: "52:54:ff:00:00:01", node_uuid: NATIVE }],
    },
    site: { ...SITE, machines: [...SITE.machines, { match: {}, accept: BOOTS }] },
    allow_pairing: release !== "juno",
  };
}

export function fleetUuid(id: number): string {
  return caseUuid("node", id);
}
