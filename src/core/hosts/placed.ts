import type { FindingCode } from "../../model/findings.ts";
import type { InstanceRow } from "../../model/nova-rows.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { show } from "../inspect/rows.ts";
import type { Choice } from "./choice.ts";
import type { ComputeFault } from "./computes.ts";
import { isCarried, nodeOf, same } from "./keeps.ts";

/** Instances by their uuid, lower case. */
type InstancesOf = (uuids: readonly string[]) => Promise<ReadonlyMap<string, InstanceRow>>;

/**
 * Looks at the instance of every machine that is to be loaded, whether the plan changes its row or
 * not: its host must be the one that runs for the machine, its node the machine. What the operator
 * accepted is not held against it.
 *
 * @source facts/systems.md D-14
 */
export async function* auditInstances(
  machines: AsyncIterable<readonly PlannedMachine[]>,
  instancesOf: InstancesOf,
  choice: Choice,
): AsyncGenerator<ComputeFault> {
  for await (const batch of machines) {
    const tenants = batch.flatMap((line) => {
      const uuid = nodeOf(line.records)?.instance_uuid;
      return isCarried(line) && typeof uuid === "string" ? [{ line, uuid }] : [];
    });
    const rows = await instancesOf(tenants.map(({ uuid }) => uuid));
    for (const { line, uuid } of tenants) {
      const faults = faultsOf(line, rows.get(uuid.toLowerCase()), choice);
      for (const fault of faults) yield { machine: line.uuid, fault: `instance ${uuid}: ${fault}` };
    }
  }
}

function faultsOf(
  line: PlannedMachine,
  row: InstanceRow | undefined,
  choice: Choice,
): readonly string[] {
  const accepted = (code: FindingCode): boolean =>
    line.findings.some((found) => found.code === code && found.accepted !== undefined);
  if (row === undefined) return accepted("N2I-D201") ? [] : ["is not in nova"];
  if ((row.deleted ?? 0) !== 0) return accepted("N2I-D202") ? [] : ["is deleted in nova"];
  if (accepted("N2I-D225")) return [];
  const { service_host, uuid } = line;
  const host = choice.of({ service_host, node: nodeOf(line.records) ?? {} }) ?? service_host;
  return [
    ...(row.host === host ? [] : [`host is ${told(row.host)}, its nova-compute ${told(host)}`]),
    ...(same(row.node, uuid) ? [] : [`node is ${told(row.node)}, its machine ${told(uuid)}`]),
  ];
}

function told(name: string | null): string {
  return name === null ? "NULL" : show(name);
}
