import assert from "node:assert/strict";
import { portUuid } from "../../src/lib/uuid.ts";
import type { RowVerdict } from "../../src/model/artefact.ts";
import type { Database } from "../../src/systems/database/open.ts";
import { openWriting } from "../../src/systems/database/write.ts";
import { type Case, caseMac, caseUuid } from "../cases/case.ts";
import { tenant } from "../hostile/fleet.ts";
import { planned, type Workplace, withCase } from "./planned-case.ts";
import { applied, verified } from "./stages.ts";

/** The uuids of `rich`'s two machines and of their ports. */
export const NODES = [caseUuid("node", 1), caseUuid("node", 2)] as const;
export const PORTS = [
  portUuid(NODES[0], caseMac(1, 0)),
  portUuid(NODES[1], caseMac(2, 0)),
] as const;

/** Two machines with all that rules and site document can give; the first has a tenant. */
export function rich(release: "juno" | "kilo" | "2023.1"): Case {
  const reason = "the old TFTP service stays";
  return {
    shows: "two machines with everything a record can hold",
    nova_bm: {
      nodes: [tenant(1, { terminal_port: 8001, ephemeral_mb: 10_240 }), { id: 2 }],
      interfaces: [
        { bm_node_id: 1, vif_uuid: caseUuid("vif", 1), datapath_id: "0x1", port_no: 2 },
        { bm_node_id: 2 },
      ],
    },
    nova: { instances: [{ uuid: caseUuid("instance", 1), ephemeral_gb: 10 }] },
    nova_conf: { "*": { flavor_extra_specs: "cpu_arch:x86_64, rack:7" } },
    ironic: { release },
    allow_pairing: release !== "juno",
    site: {
      format: "nova2ironic/site@1",
      machines: [
        {
          match: {},
          set: { deploy_kernel: caseUuid("vif", 8), deploy_ramdisk: caseUuid("vif", 9) },
          accept: [{ finding: "N2I-D403", reason }],
        },
        {
          match: { uuid: NODES[0] },
          set: {
            ...{ root_uuid: caseUuid("vif", 7), name: "one" },
            ...(release === "2023.1" && {
              ...{ owner: "project", resource_class: "baremetal" },
              traits: ["HW_CPU_X86_VMX", "CUSTOM_FAST"],
            }),
          },
        },
      ],
    },
  };
}

/** Loads a case whose two machines both load, and verifies that all is well before a test disturbs it. */
export async function loaded<T>(given: Case, work: (at: Workplace) => Promise<T>): Promise<T> {
  return withCase(given, async (at) => {
    const { counts } = await planned(at);
    assert.equal(counts.verdicts.create, 2, JSON.stringify(counts));
    // Hundreds of small transactions: nobody pulls the plug of a test.
    await disturb(at.ironic, "PRAGMA synchronous=OFF");
    await applied(at);
    assert.deepEqual(await told(at), []);
    return work(at);
  });
}

/** Rows that are not as planned, or only in what is Ironic's own. */
export async function told(at: Workplace): Promise<readonly RowVerdict[]> {
  const { verdicts } = await verified(at);
  return verdicts.filter(({ state, differs }) => state !== "validated" || differs.length > 0);
}

/** A statement of somebody else's. */
export async function disturb(database: Database, sql: string, values: readonly unknown[] = []) {
  // knex's binding type is narrower than what its drivers take.
  // Not every PRAGMA may stand in a transaction.
  if (sql.startsWith("PRAGMA")) return void (await database.knex.raw(sql));
  const trx = await openWriting(database);
  await trx.raw(sql, values as readonly never[]);
  await trx.commit();
}
