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

/** What `node manage` is told, besides the machines. */
export interface ManageWords extends RestOptions {
  readonly run: string;
  /** Machines under way at once. */
  readonly inFlight: number;
  readonly dryRun: boolean;
  /** Absent: records are allocations of Ironic. */
  readonly nova?: ServerWishes;
}

/** @throws MigrationError N2I-E100 naming every fault, before anything is opened */
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

/** @throws MigrationError N2I-E100 naming every zone in which no server is made */
async function checkZones(all: readonly ManageAsked[], zones: Adapter["zones"]): Promise<void> {
  const named = new Set(all.flatMap(({ availability_zone: zone }) => zoneNamed(zone) ?? []));
  const known = named.size === 0 ? null : await zones();
  if (known === null) return;
  const faults = [...named].flatMap((zone) => noZone(zone, known) ?? []);
  if (faults.length > 0) throw new MigrationError("N2I-E100", listed(faults, MOST_TOLD, "; "));
}

/**
 * Each machine by the uuid of its node, with the record that was begun for it, or a new one.
 *
 * @throws MigrationError N2I-E306 naming every node that Ironic has not, N2I-E100 every zone that is not there
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
      why: "Nothing is done of a list that names what is not there.",
      fix: "Correct the name; node list --adoptable --all lists every node.",
    });
  const uuids = found.flatMap((uuid) => uuid ?? []);
  const met = new Set<string>();
  const twice = uuids.filter((uuid) => met.size === met.add(uuid).size);
  if (twice.length > 0)
    throw new MigrationError("N2I-E100", `node ${listed(twice, NAMED)} is named more than once`);
  const zones = all.flatMap(
    ({ availability_zone: zone }, at) => zoneFault(zone, uuids[at] ?? "") ?? [],
  );
  if (zones.length > 0) throw new MigrationError("N2I-E100", listed(zones, MOST_TOLD, "; "));
  const begun = managedIn(entries);
  // Of one that was begun its run goes on, whatever became of its zone.
  await checkZones(
    all.filter((_, at) => !begun.has(uuids[at] ?? "")),
    known,
  );
  return all.map((asked, at) => {
    const id = uuids[at] ?? "";
    const before = begun.get(id);
    if (before !== undefined && before.name !== asked.name)
      throw new MigrationError("N2I-E100", `this run manages node ${id} as ${before.name} already`);
    return before === undefined
      ? { id, server: randomUUID(), asked, acts: [] }
      : { ...before.change, asked };
  });
}
