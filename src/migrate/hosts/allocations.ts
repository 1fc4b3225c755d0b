import { grouped } from "../../lib/grouped.ts";
import { BATCH, regroup } from "../../lib/streams.ts";
import { counted, listed, NAMES } from "../../lib/text.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { closing, openRole } from "../../run/databases.ts";
import type { Database } from "../../systems/database/open.ts";
import { openInstances } from "../../systems/nova-db/instances.ts";
import { readComputeUuids, readPlacement } from "../../systems/nova-db/later.ts";
import type { NovaNow } from "./rules/computes.ts";
import { auditAllocations, heal } from "./rules/current-placement.ts";

export interface AuditDatabases {
  readonly novaDb?: string;
  readonly placementDb?: string;
}

export async function allocationsText(
  { novaDb, placementDb }: AuditDatabases,
  lines: () => AsyncIterable<readonly PlannedMachine[]>,
): Promise<string | null> {
  if (placementDb === undefined) return null;
  return closing(async (keep) => {
    const nova = keep(await openRole("nova-db", novaDb, { readOnly: true }));
    const placement = keep(await openRole("placement-db", placementDb, { readOnly: true }));
    const now = { instancesOf: openInstances(nova), allocatedOf: openAllocated(placement) };
    const bare: string[] = [];
    for await (const batch of regroup(lines(), BATCH))
      for await (const { instance } of auditAllocations(batch, now)) bare.push(instance);
    if (bare.length === 0) return "every live instance in the plan has an allocation";
    return `${counted(bare.length, "live instance has", "live instances have")} none: ${listed(bare, NAMES)}. To create one: ${heal()}`;
  });
}

export function openAllocated(placement: Database) {
  return async (instances: readonly string[]): Promise<ReadonlySet<string>> =>
    new Set((await readPlacement(placement, instances, [])).allocated.keys());
}

/** Placement's providers named after machines, with Nova's compute nodes. */
export function openProviders(
  nova: Database,
  placement: Database,
): NonNullable<NovaNow["providersOf"]> {
  return async (machines) => {
    const { providers } = await readPlacement(placement, [], machines);
    const computes = await readComputeUuids(nova, machines);
    const byName = grouped(providers, ({ name }) => name);
    return new Map(
      machines.map((machine) => {
        const name = machine.toLowerCase();
        const uuids = (byName.get(name) ?? []).map(({ uuid }) => uuid);
        return [name, { uuids, compute: computes?.get(name) ?? null }];
      }),
    );
  };
}
