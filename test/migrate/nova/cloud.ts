import { type Case, type CaseRow, caseUuid } from "../../cases/case.ts";
import { SITE, tenant } from "../../hostile/fleet.ts";

/** Deploy images of nova-baremetal, which must not stay. */
export const OLD = { kernel: "old-kernel", ramdisk: "old-ramdisk" } as const;
/** Those of Ironic, as the site document of the machines has them. */
export const NEW = {
  kernel: SITE.machines[0].set.deploy_kernel,
  ramdisk: SITE.machines[0].set.deploy_ramdisk,
} as const;

export const IMAGES = ["--deploy-kernel", NEW.kernel, "--deploy-ramdisk", NEW.ramdisk];

const BASE: CaseRow = {
  ...{ memory_mb: 1024, vcpus: 1, swap: 0, root_gb: 10, ephemeral_gb: 0, rxtx_factor: 1 },
  ...{ disabled: false, is_public: true, deleted: 0 },
};

interface Computed {
  readonly machines: number;
  readonly others?: number;
  readonly version?: number;
  readonly release?: string;
  readonly more?: { readonly [table: string]: readonly CaseRow[] };
  /** Makes a machine what it is, with its host and address; without it all but each tenth have tenants. */
  readonly node?: (id: number, place: CaseRow) => CaseRow;
}

/** Decisions of who plans no compute host, where machines are on two. */
const LEFT = {
  ...SITE,
  machines: [
    ...SITE.machines,
    { match: {}, accept: [{ finding: "N2I-D227", reason: "hosts are not looked at" }] },
  ],
};

/** A cloud whose bare metal is on compute-1 and compute-2, beside instances on hosts of another driver. */
export function cloud({
  machines,
  others = 10,
  version = 254,
  release,
  more = {},
  node,
}: Computed): Case {
  const nodes = Array.from({ length: machines }, (_, at) => {
    const host = {
      service_host: `compute-${1 + (at % 2)}`,
      pm_address: `10.${at >> 8}.${at & 255}.9`,
    };
    if (node !== undefined) return node(at + 1, host);
    return at % 10 === 9 ? { id: at + 1, ...host } : tenant(at + 1, host);
  });
  const used = nodes.filter((node) => "instance_uuid" in node);
  const elsewhere = Array.from({ length: others }, (_, at) => ({
    id: 100_000 + at,
    uuid: caseUuid("instance", 100_000 + at),
    ...{ host: `kvm-${at % 5}`, node: `kvm-${at % 5}`, instance_type_id: 2 },
  }));
  const services = ["compute-1", "compute-2", ...[0, 1, 2, 3, 4].map((at) => `kvm-${at}`)];
  return {
    shows: "bare metal beside others",
    nova_bm: { nodes },
    nova_conf: { "*": { flavor_extra_specs: "cpu_arch:x86_64" } },
    nova: {
      version,
      info_caches: [],
      instances: [
        ...used.map(({ instance_uuid, id }) => ({
          uuid: instance_uuid ?? null,
          ...(id === 1 && { instance_type_id: 3 }),
        })),
        ...elsewhere,
      ],
      flavors: [
        { ...BASE, id: 1, name: "baremetal", flavorid: "11" },
        { ...BASE, id: 2, name: "m1.small", flavorid: "2" },
        {
          ...BASE,
          id: 3,
          name: "old metal",
          flavorid: "10",
          deleted: 3,
          deleted_at: "2014-05-02 10:00:00",
        },
        { ...BASE, id: 4, name: "unused metal", flavorid: "9", deleted: 4 },
        { ...BASE, id: 5, name: "half metal", flavorid: "12" },
      ],
      extra_specs: [
        spec(1, 1, "cpu_arch", "x86_64"),
        spec(2, 1, "baremetal:deploy_kernel_id", OLD.kernel),
        spec(3, 1, "baremetal:deploy_ramdisk_id", OLD.ramdisk),
        spec(4, 1, "baremetal_driver", "nova.virt.baremetal.pxe.PXE"),
        spec(5, 2, "quota:cpu_shares", "10"),
        spec(6, 3, "baremetal:deploy_kernel_id", ""),
        spec(7, 3, "baremetal:deploy_ramdisk_id", ""),
        spec(8, 4, "baremetal:deploy_kernel_id", OLD.kernel),
        spec(9, 4, "baremetal:deploy_ramdisk_id", OLD.ramdisk),
        spec(10, 5, "baremetal:deploy_kernel_id", OLD.kernel),
        { ...spec(11, 1, "baremetal:deploy_kernel_id", "older"), deleted: 11 },
      ],
      services: services.map((host, at) => service(at + 1, host)),
      compute_nodes: nodes.map(({ id, service_host }) =>
        compute(Number(id), service_host === "compute-1" ? 1 : 2),
      ),
      more: {
        aggregates: [{ id: 1, name: "metal", deleted: 0 }],
        aggregate_hosts: [1, 2].map((at) => ({
          ...{ id: at, host: `compute-${at}`, aggregate_id: 1, deleted: 0 },
        })),
        ...more,
      },
    },
    ironic: { ...(release !== undefined && { release }) },
    allow_pairing: version !== 254 || release !== undefined,
    site: LEFT,
  };
}

/** Compute nodes as Kilo's nova-compute left them: one by name and service, one by name alone. */
export function kiloCloud(): Case {
  const given = cloud({ machines: 3, others: 2, version: 280 });
  const computes = given.nova?.compute_nodes ?? [];
  return {
    ...given,
    nova: {
      ...given.nova,
      compute_nodes: computes.map((row, at) => {
        const host = row.service_id === 1 ? "compute-1" : "compute-2";
        if (at === 0) return row;
        return { ...row, host, ...(at === 1 && { service_id: null }) };
      }),
    },
  };
}

function spec(id: number, instance_type_id: number, key: string, value: string): CaseRow {
  return { id, instance_type_id, key, value, deleted: 0, created_at: "2014-05-01 09:00:00" };
}

function service(id: number, host: string): CaseRow {
  return {
    ...{ id, host, binary: "nova-compute", topic: "compute", report_count: 10 },
    ...{ disabled: false, deleted: 0, updated_at: "2014-12-01 00:00:00" },
  };
}

function compute(node: number, service_id: number): CaseRow {
  return {
    ...{ id: node, service_id, vcpus: 8, memory_mb: 49_152, local_gb: 500 },
    ...{ vcpus_used: 0, memory_mb_used: 0, local_gb_used: 0, hypervisor_type: "baremetal" },
    ...{ hypervisor_version: 1, cpu_info: "baremetal cpu", deleted: 0 },
    hypervisor_hostname: caseUuid("node", node),
  };
}
