import { normaliseMac } from "../../src/lib/mac.ts";
import type { PlannedMachine } from "../../src/model/plan.ts";
import { openSnapshot } from "../../src/run/run.ts";
import { type RawRow, select } from "../../src/systems/database/rows.ts";
import { after, open, planOf, type Workplace } from "./planned-case.ts";
import { artefact } from "./stages.ts";

interface Source {
  readonly nodes: readonly RawRow[];
  readonly interfaces: readonly RawRow[];
}

/** The source's rows by queries of the test's own. */
async function sourceOf({ written }: Workplace): Promise<Source> {
  const bm = await open(after(written.extract, "--nova-bm-db")[0] ?? "", true);
  const read = (table: string) => select(bm, `SELECT * FROM ${table} ORDER BY id`);
  try {
    return { nodes: await read("bm_nodes"), interfaces: await read("bm_interfaces") };
  } finally {
    await bm.close();
  }
}

/** What of nova_bm is neither in the plan nor told of by it: it should be nothing. */
export async function lostBy(at: Workplace): Promise<readonly string[]> {
  const { nodes, interfaces } = await sourceOf(at);
  const plan = await planOf(at);
  const machines = new Map<number, PlannedMachine>();
  const lost: string[] = [];
  for await (const batch of plan.lines())
    for (const machine of batch) {
      if (machines.has(machine.bm_node_id)) lost.push(`${machine.bm_node_id} is planned twice`);
      machines.set(machine.bm_node_id, machine);
    }
  const orphans = new Set<number>();
  for await (const batch of (await openSnapshot(artefact(at, "snapshot"))).lines())
    for (const line of batch) if ("orphan" in line) orphans.add(line.orphan.id);

  for (const node of nodes) lost.push(...lostMachine(node, machines.get(Number(node.id))));
  if (machines.size !== nodes.length) lost.push(`${machines.size} planned of ${nodes.length}`);
  for (const row of interfaces)
    if (!isTold(row, machines.get(Number(row.bm_node_id)), orphans))
      lost.push(`bm_interfaces.id=${Number(row.id)} ${String(row.address)}`);
  return lost;
}

/** A machine is loaded with its uuid and instance, or it is said why not. */
function lostMachine(node: RawRow, machine: PlannedMachine | undefined): readonly string[] {
  const where = `bm_nodes.id=${Number(node.id)}`;
  if (machine === undefined) return [`${where} has no line`];
  const { verdict, reason, records } = machine;
  if (verdict === "skipped" || verdict === "blocked" || verdict === "conflict")
    return reason === null || reason === "" ? [`${where} is ${verdict} without a reason`] : [];
  const row = records.find(({ resource }) => resource === "node")?.row;
  const uuid = String(node.uuid).toLowerCase();
  if (row?.uuid !== uuid) return [`${where} is loaded without its uuid`];
  const instance = String(node.instance_uuid ?? "").toLowerCase();
  return instance === "" || JSON.stringify(row).includes(instance)
    ? []
    : [`${where} is loaded without its instance`];
}

/** A row of bm_interfaces is a port, or something names it, or its machine is left out. */
function isTold(row: RawRow, machine: PlannedMachine | undefined, orphans: ReadonlySet<number>) {
  if (machine === undefined) return orphans.has(Number(row.id));
  const { records, findings } = machine;
  if (records.length === 0) return machine.reason !== null;
  const mac = normaliseMac(String(row.address ?? ""));
  const port = records.some((record) => record.resource === "port" && record.row.address === mac);
  const named = findings.some(({ place }) =>
    place.startsWith(`bm_interfaces.id=${Number(row.id)} `),
  );
  const dead = Number(row.deleted) === 1 && row.deleted !== null;
  return dead ? findings.some(({ code }) => code === "N2I-D014") : port || named;
}
