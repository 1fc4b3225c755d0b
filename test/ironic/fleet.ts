import { type Case, type CaseRow, caseMac, caseUuid } from "../cases/case.ts";
import { acceptOf, FAKE_POWER, SITE, tenant } from "../hostile/fleet.ts";

/** The compute host whose machines nobody can switch. */
const FAKE_HOST = "fake-host";

const free = (id: number, task_state: string | null = null): CaseRow => ({ id, task_state });

/** Twenty machines: every outcome of the state table, those in use the most. */
const KINDS: readonly ((id: number) => CaseRow)[] = [
  ...new Array<(id: number) => CaseRow>(6).fill(tenant),
  (id) => tenant(id, { terminal_port: 8000 + id, ephemeral_mb: 10_240 }),
  (id) => tenant(id, { service_host: FAKE_HOST, pm_address: null, pm_user: null }),
  (id) => free(id),
  (id) => free(id),
  (id) => free(id, "deleted"),
  (id) => ({ ...free(id), service_host: FAKE_HOST, pm_address: null, pm_user: null }),
  (id) => tenant(id, { task_state: "error" }),
  (id) => tenant(id, { task_state: "deploy complete" }),
  (id) => tenant(id, { task_state: "deploy failed" }),
  (id) => tenant(id, { task_state: "building" }),
  (id) => free(id, "deploying"),
  (id) => free(id, "active"),
  (id) => tenant(id, { task_state: null }),
  (id) => free(id, "of a fork"),
];

/** Why an operator loads what the tool would rather not. */
const ACCEPTED = acceptOf("N2I-D100", "N2I-D107", "N2I-D403", "N2I-D605");

export interface Bmcs {
  readonly addresses: readonly string[];
  readonly power: (at: number) => boolean;
}

/**
 * A deployment of machines of every kind, twenty and twenty again, each with a BMC of these; the
 * last of every twenty is blocked.
 *
 * @param bmcs machine N has the BMC at N - 1, its password `passwordOf(N)`
 */
export function fleetOf(bmcs: Bmcs): Case {
  const nodes: readonly CaseRow[] = bmcs.addresses.map((pm_address, at) => {
    const row = KINDS[at % KINDS.length]?.(at + 1) ?? { id: at + 1 };
    return { pm_address, pm_password: passwordOf(at + 1), ...row };
  });
  const used = nodes.filter(({ instance_uuid }) => instance_uuid);
  return {
    shows: "machines of every state",
    nova_bm: { nodes, interfaces: nodes.flatMap(interfacesOf) },
    nova: {
      instances: used.map(({ id, instance_uuid }) => ({
        uuid: instance_uuid ?? null,
        // As nova-compute records it: 1 running, 4 shut down.
        power_state: bmcs.power(Number(id) - 1) ? 1 : 4,
      })),
    },
    nova_conf: { "compute-1": { flavor_extra_specs: "cpu_arch:x86_64" }, [FAKE_HOST]: FAKE_POWER },
    site: {
      ...SITE,
      machines: [
        ...SITE.machines,
        { match: {}, accept: ACCEPTED },
        { match: { id: "1" }, set: { traits: ["HW_CPU_X86_VMX", "CUSTOM_FAST"] } },
        // What the simulators speak; `power` asks for it.
        { match: { service_host: "compute-1" }, set: { driver_info: { ipmi_cipher_suite: "3" } } },
      ],
    },
    power: true,
    allow_pairing: true,
  };
}

export function passwordOf(id: number): string {
  return `bmc-secret-${id}`;
}

/** Every third machine has a second NIC without a network. */
function interfacesOf({ id, instance_uuid }: CaseRow): readonly CaseRow[] {
  const node = Number(id);
  const vif_uuid = instance_uuid ? caseUuid("vif", node) : null;
  const first = { bm_node_id: node, address: caseMac(node, 0), vif_uuid };
  const second = { bm_node_id: node, address: caseMac(node, 1), vif_uuid: null };
  return node % 3 === 0 ? [first, second] : [first];
}
