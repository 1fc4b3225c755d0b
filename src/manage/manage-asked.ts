import { randomUUID } from "node:crypto";
import { MigrationError } from "../lib/error.ts";
import { listed, NAMED } from "../lib/text.ts";
import type { ManagePlace } from "../migrate/open/services.ts";
import type { ManageAsked, ServerWishes } from "../model/ironic/manage.ts";
import type { Entries } from "../model/journal.ts";
import type { RestOptions } from "../run/cloud.ts";
import { readUuids } from "../systems/ironic-api/running.ts";
import type { Adapter } from "./manage-adapter.ts";
import { managedIn } from "./manage-run.ts";
import { noZone, zoneFault, zoneNamed } from "./rules/nova.ts";
import { repeatedFaults, requestFaults } from "./rules/request.ts";
import type { ManageChange } from "./steps/manage-acts.ts";

export interface ManageWords extends RestOptions {
  readonly run: string;
  readonly inFlight: number;
  readonly dryRun: boolean;
  /** Absent: the records are Ironic allocations. */
  readonly nova?: ServerWishes;
}

/** @throws MigrationError N2I-E100 with every error, before anything is opened */
export function checkAsked(all: readonly ManageAsked[], { nova }: ManageWords): void {
  const keeper = nova === undefined ? "allocation" : "nova";
  const faults = [
    ...all.flatMap((asked) =>
      requestFaults(asked, keeper).map((why) => `${asked.node || "a machine"}: ${why}`),
    ),
    ...repeatedFaults(all),
  ];
  if (faults.length > 0) throw new MigrationError("N2I-E100", listed(faults, MOST_TOLD, "; "));
}

const MOST_TOLD = 20;

async function unknownZones(
  all: readonly ManageAsked[],
  zones: Adapter["zones"],
): Promise<readonly string[]> {
  const named = new Set(all.flatMap(({ availability_zone: zone }) => zoneNamed(zone) ?? []));
  const known = named.size === 0 ? null : await zones();
  return known === null ? [] : [...named].flatMap((zone) => noZone(zone, known) ?? []);
}

/**
 * Resolves each machine to its node uuid, with its started or a new record.
 *
 * @throws MigrationError N2I-E306 with every unknown node, N2I-E100 with every other error
 */
export async function changesOf(
  all: readonly ManageAsked[],
  { service }: ManagePlace,
  { inFlight: most }: ManageWords,
  { entries, zones: known }: { readonly entries: Entries } & Pick<Adapter, "zones">,
): Promise<readonly ManageChange[]> {
  const idents = all.map(({ node }) => node);
  const found = await readUuids(service, idents, most);
  const gone = idents.flatMap((ident, at) => (found[at] == null ? [JSON.stringify(ident)] : []));
  if (gone.length > 0)
    throw new MigrationError("N2I-E306", `Ironic has no node ${listed(gone, NAMED)}`, {
      why: "If a list has an unknown node, no machine is managed.",
      fix: "Correct the name. node list --adoptable --all lists every node.",
    });
  const uuids = found.flatMap((uuid) => uuid ?? []);
  const begun = managedIn(entries);
  const met = new Set<string>();
  const faults = all.flatMap(({ name, availability_zone: zone }, at) => {
    const id = uuids[at] ?? "";
    const before = begun.get(id)?.name ?? name;
    return [
      ...(met.size === met.add(id).size ? [`node ${id} is named more than once`] : []),
      ...[zoneFault(zone, id) ?? []].flat(),
      ...(before === name ? [] : [`this run already manages node ${id} as ${before}`]),
    ];
  });
  // A started machine continues, even if its zone no longer exists.
  const rest = all.filter((_, at) => !begun.has(uuids[at] ?? ""));
  const every = faults.length > 0 ? faults : await unknownZones(rest, known);
  if (every.length > 0) throw new MigrationError("N2I-E100", listed(every, MOST_TOLD, "; "));
  return all.map((asked, at) => {
    const id = uuids[at] ?? "";
    const before = begun.get(id);
    return before === undefined
      ? { id, server: randomUUID(), asked, acts: [] }
      : { ...before.change, asked };
  });
}
