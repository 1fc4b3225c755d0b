import type { Case, CaseRow } from "../cases/case.ts";
import { SITE, tenant } from "../hostile/fleet.ts";
import type { BmcOptions } from "./bmc/index.ts";

export const MACHINES = 300;

const HOSTS = 6;

/** What is wrong with a machine, by its number: a third of them have something. */
function fault(id: number): CaseRow {
  if (id % 15 === 0) return { deleted: true, deleted_at: "2014-07-01 00:00:00" };
  if (id % 16 === 1) return { ...tenant(id), task_state: "building" };
  if (id % 24 === 2) return { task_state: "deploy failed" };
  if (id % 37 === 3) return { pm_address: null, pm_user: null };
  if (id % 31 === 4) return { ...tenant(id), task_state: "error" };
  if (id % 41 === 5) return { deleted: null };
  return {};
}

/** The BMC of a machine: some have another password, some refuse ADMINISTRATOR, of some the port is closed. */
export function bmcOf(id: number): Partial<BmcOptions> {
  const password = id % 14 === 6 ? "another" : `bmc-secret-${id}`;
  return {
    users: [{ name: "admin", password, ...(id % 12 === 7 && { privilege: 3 }) }],
    ...(id % 29 === 8 && { closed: true }),
    power: true,
  };
}

/** Machines of six compute hosts, every second with a tenant, a third with something wrong. */
export function messy(addresses: readonly string[]): Case {
  const ids = Array.from({ length: MACHINES }, (_, at) => at + 1);
  return {
    shows: "three hundred machines, a third of which have something wrong",
    power: true,
    nova_bm: {
      nodes: ids.map((id) => ({
        ...(id % 2 === 0 ? tenant(id) : { id }),
        pm_address: addresses[id - 1] ?? null,
        service_host: `compute-${1 + (id % HOSTS)}`,
        ...fault(id),
        id,
      })),
    },
    nova: {
      services: Array.from({ length: HOSTS }, (_, at) => ({
        ...{ id: at + 1, host: `compute-${at + 1}`, binary: "nova-compute", topic: "compute" },
        ...{ report_count: 10, disabled: 0, deleted: 0 },
      })),
    },
    site: {
      ...SITE,
      machines: [
        ...SITE.machines,
        {
          match: { service_host: "compute-2" },
          accept: [{ finding: "N2I-D602", reason: "their BMCs are behind a firewall that night" }],
        },
      ],
    },
  };
}
