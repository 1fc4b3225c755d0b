import fc from "fast-check";
import { type Case, type CaseRow, caseMac, caseUuid } from "../cases/case.ts";
import { service } from "./everything.ts";

const RELEASES = ["juno", "kilo", "2023.1"] as const;
const HOSTS = ["compute-1", "vm-host", "pdu-host", "fake-host", "nobody"] as const;
const TASK_STATES = [
  ...[null, "active", "active", "active", "deleted", "error", "building", "prepared", "deploying"],
  ...["deploy failed", "deploy complete", "migrating", ""],
] as const;
const REASON = "generated";

/** Text as people and programs put it into columns: empty, odd, long, of any script. */
const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 20 }),
  fc.constantFrom("", " ", "0", "null", "%s", "'; --", '"', "\\", "a\tb\nc"),
  fc.string({ minLength: 200, maxLength: 200 }),
);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 5 });
const size = maybe(fc.oneof(fc.integer({ min: 1, max: 100_000 }), fc.constantFrom(0, -1)));
const deleted = fc.constantFrom(false, false, false, false, null, true);
const time = maybe(fc.constantFrom("2014-05-01 10:00:00", "2014-05-01 10:00:00.250000"));

/** How somebody wrote a MAC. */
const SPELLINGS: readonly ((mac: string) => string | null)[] = [
  (mac) => mac,
  (mac) => mac,
  (mac) => mac.toUpperCase(),
  (mac) => mac.replaceAll(":", "-"),
  (mac) => mac.replaceAll(":", ""),
  (mac) => `${mac} `,
  (mac) => mac.slice(0, 14),
  () => null,
];

const interfaces = fc.array(
  fc.record({
    nic: fc.nat(3),
    spelling: fc.constantFrom(...SPELLINGS),
    deleted,
    vif: fc.boolean(),
    datapath_id: maybe(fc.constantFrom("0", "0x1f")),
    port_no: maybe(fc.nat(9)),
    /** 99: belongs to no node; -1: its MAC is the next node's too. */
    of: fc.constantFrom(0, 0, 0, 0, 0, 0, 99, -1),
  }),
  { maxLength: 3 },
);

const instance = fc.record({
  /** Whose instance: the node's own, the next one's, or one of no uuid form. */
  uuid: fc.constantFrom(0, 0, 0, 0, 1),
  nova: fc.constantFrom("live", "live", "live", "busy", "deleted", "missing", "elsewhere"),
  /** Under another host's name than its machine's. */
  strayed: fc.constantFrom(false, false, false, true),
  launched: fc.boolean(),
  ephemeral_gb: fc.constantFrom(0, 0, 10),
  cached: fc.boolean(),
});

const trapped = fc.record({
  row: fc.record({
    ...{ cpus: size, memory_mb: size, local_gb: size, terminal_port: size, ephemeral_mb: size },
    ...{ root_mb: size, swap_mb: size, pm_user: maybe(text), pm_password: maybe(text) },
    ...{ instance_name: maybe(text), pxe_config_path: maybe(text), image_path: maybe(text) },
    ...{ created_at: time, updated_at: time, deleted },
    pm_address: maybe(fc.oneof(text, fc.constantFrom("10.0.0.9", "10.0.0.9:80,2", "10.0.0.10"))),
    service_host: maybe(fc.constantFrom(...HOSTS)),
    task_state: fc.constantFrom(...TASK_STATES),
    preserve_ephemeral: fc.boolean(),
  }),
  uuid: fc.constantFrom("plain", "plain", "plain", "plain", "plain", "upper", "none", "bad"),
  instance: fc.option(instance, { freq: 2 }),
  interfaces,
});

type Node = typeof trapped extends fc.Arbitrary<infer T> ? T : never;

/** The same machine without what would keep it from being loaded where a compute host is planned. */
function fixed(one: Node): Node {
  const { row } = one;
  const host = row.service_host === null || row.service_host === "nobody" ? "vm-host" : null;
  return {
    ...one,
    uuid: one.uuid === "upper" ? "upper" : "plain",
    row: {
      ...row,
      ...{ deleted: row.deleted === true ? false : row.deleted, pm_address: "10.0.0.1,1" },
      ...{ pm_user: "admin", pm_password: `p ${row.root_mb} \u00e9` },
      ...(host !== null && { service_host: host }),
      task_state: one.instance ? "active" : row.task_state === "deleted" ? "deleted" : null,
    },
    instance: one.instance && {
      ...{ ...one.instance, uuid: 0, strayed: false },
      nova: one.instance.nova === "elsewhere" ? "elsewhere" : "live",
    },
    interfaces: one.interfaces.map((each, at) => ({
      ...{ ...each, nic: at, of: 0 },
      spelling: SPELLINGS[each.nic] ?? each.spelling,
    })),
  };
}

const node = fc.oneof(trapped, trapped.map(fixed), trapped.map(fixed));

function uuidOf({ uuid }: Node, id: number): string | null {
  const plain = caseUuid("node", id);
  return { plain, upper: plain.toUpperCase(), none: null, bad: `node-${id}` }[uuid];
}

function nodeRow(one: Node, id: number): CaseRow {
  const instance_uuid = one.instance && caseUuid("instance", id + one.instance.uuid);
  return { ...one.row, id, uuid: uuidOf(one, id), instance_uuid };
}

function interfaceRows({ interfaces: rows }: Node, id: number): readonly CaseRow[] {
  return rows.map(({ nic, spelling, of, vif, ...row }, at) => ({
    ...{ deleted: row.deleted, datapath_id: row.datapath_id, port_no: row.port_no },
    bm_node_id: of === 99 ? 99 : id,
    address: spelling(caseMac(of === -1 ? id + 1 : id, nic)),
    vif_uuid: vif ? caseUuid("vif", id * 10 + at) : null,
  }));
}

function instanceRows(one: Node, id: number): readonly CaseRow[] {
  if (one.instance === null || one.instance.nova === "missing" || one.instance.uuid !== 0)
    return [];
  const { nova, launched, ephemeral_gb, strayed } = one.instance;
  return [
    {
      ...{ uuid: caseUuid("instance", id), ephemeral_gb },
      node: nova === "elsewhere" ? caseUuid("node", id + 1) : uuidOf(one, id),
      deleted: nova === "deleted" ? id : 0,
      host: strayed ? "fake-host" : one.row.service_host,
      task_state: nova === "busy" ? "rebuilding" : null,
      ...(!launched && { launched_at: null }),
    },
  ];
}

/** Rows no two of which have the same value in a column that is unique. */
function distinct(rows: readonly CaseRow[], column: string): readonly CaseRow[] {
  const seen = new Set<unknown>();
  return rows.filter(({ [column]: value }) => {
    if (value === null || value === undefined) return true;
    return seen.size < seen.add(value).size;
  });
}

/** Whole deployments: rows as nova-baremetal, its operators and its bugs left them. */
export const fleets: fc.Arbitrary<Case> = fc
  .record({
    nodes: fc.array(node, { minLength: 1, maxLength: 12 }),
    version: fc.constantFrom(10, 10, 10, 8, 4, 2),
    release: fc.constantFrom(...RELEASES),
    nova: fc.boolean(),
    images: fc.constantFrom(true, true, true, false),
  })
  .map(({ nodes, version, release, nova, images }): Case => {
    const each = <T>(make: (one: Node, id: number) => readonly T[]): readonly T[] =>
      nodes.flatMap((one, at) => make(one, at + 1));
    const manager = (name: string) => ({ power_manager: `nova.virt.baremetal.${name}` });
    const arch = { flavor_extra_specs: "cpu_arch:x86_64" };
    return {
      shows: "a generated fleet",
      nova_bm: {
        version,
        nodes: each((one, id) => [nodeRow(one, id)]),
        interfaces: distinct(each(interfaceRows), "address"),
      },
      nova: nova
        ? { instances: each(instanceRows), services: HOSTS.slice(0, -1).map(service) }
        : null,
      nova_conf: {
        "compute-1": arch,
        "vm-host": {
          ...{ ...arch, ...manager("virtual_power_driver.VirtualPowerManager") },
          ...{ virtual_power_ssh_host: "192.0.2.7", virtual_power_host_user: "stack" },
          virtual_power_host_pass: "virt-secret",
        },
        "pdu-host": { ...arch, ...manager("iboot_pdu.IBootManager") },
        "fake-host": manager("fake.FakePowerManager"),
      },
      ironic: { release },
      allow_pairing: true,
      site: {
        format: "nova2ironic/site@1",
        machines: [
          {
            match: {},
            set: images
              ? { deploy_kernel: caseUuid("vif", 1), deploy_ramdisk: caseUuid("vif", 2) }
              : {},
            accept: ["N2I-D202", "N2I-D226", "N2I-D227", "N2I-D305", "N2I-D403"].map((finding) => ({
              finding,
              reason: REASON,
            })),
          },
          { match: { uuid: caseUuid("node", 3) }, skip: REASON },
        ],
      },
    };
  });
