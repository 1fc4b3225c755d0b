import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { MigrationError } from "../lib/error.ts";
import { listed, NAMES } from "../lib/text.ts";
import { type ManageClients, openManageClients } from "../migrate/open/services.ts";
import {
  MANAGE,
  type ManagedOne,
  type ManageRequest,
  type ServerWishes,
} from "../model/ironic/manage.ts";
import type { Entries } from "../model/journal.ts";
import type { RestOptions } from "../run/cloud.ts";
import { closing, type Keep } from "../run/databases.ts";
import { readJournal } from "../run/files/journal.ts";
import { inRun } from "../run/run.ts";
import { saveOptions } from "../run/saved-options.ts";
import { withSession } from "../run/session.ts";
import type { Sink } from "../run/sink.ts";
import { readNics, readUuids } from "../systems/ironic-api/running.ts";
import { type Adapter, checkSameIronic, openAdapter } from "./manage-adapter.ts";
import { type InspectedRows, type Notify, perform, recordIn, rowOf } from "./manage-perform.ts";
import { managedIn } from "./manage-run.ts";
import { nameOfZone, noZone, repeatedFaults, requestFaults, zoneFault } from "./rules/request.ts";
import type { ManageChange } from "./steps/manage-acts.ts";

type Managed = Pick<
  Awaited<ReturnType<typeof perform>>,
  "rows" | "stopped" | "leftovers" | "inUse" | "broke"
>;

/**
 * Creates server records of running machines, without scheduling and without contacting a BMC. The
 * same command resumes. A machine that fails during its steps is rolled back at once.
 *
 * @param notify receives the start and end of each machine
 * @throws MigrationError N2I-E100, N2I-E103 for the options, N2I-E306 for unknown nodes, N2I-E315
 * for a run of another kind, N2I-E370 if no machine can be managed
 */
export function manageMachines(
  all: readonly ManageRequest[],
  options: ManageOptions,
  sink: Pick<Sink, "report" | "during">,
  notify: Notify,
): Promise<Managed> {
  checkManageRequests(all, options);
  const preview = (entries: Entries): Promise<Managed> =>
    closing(async (keep) =>
      wouldBe(await inspectMachines(all, options, entries, { keep, sink }), options),
    );
  // A dry run creates no folder.
  if (options.dryRun && !existsSync(options.run)) return preview([]);
  return inRun(options.run, "node manage", { kind: "manage", create: true }, (run) =>
    closing(async (keep) => {
      const { entries } = await readJournal(run);
      if (options.dryRun) return preview(entries);
      const inspected = await inspectMachines(all, options, entries, { keep, sink });
      const { clients, adapter, changes } = inspected;
      const performed = await withSession(
        run,
        async (session) => {
          const { address } = clients.service.identity;
          checkSameIronic(entries, address);
          await session.begin(MANAGE, { ...adapter.target, address });
          await saveOptions(run, "node", options);
          return perform(inspected, options.inFlight, { session, sink, notify });
        },
        { afterWindow: true },
      );
      const reached = new Map(performed.rows.map((row) => [row.node, row]));
      const reason =
        performed.broke === null ? "the command was stopped before" : "the run failed before";
      const rows = changes.map(
        (change) => reached.get(change.id) ?? rowOf(change, "not reached", null, [reason]),
      );
      return { ...performed, rows };
    }),
  );
}

async function inspectMachines(
  all: readonly ManageRequest[],
  options: ManageOptions,
  entries: Entries,
  { keep, sink }: { readonly keep: Keep; readonly sink: Pick<Sink, "report"> },
): Promise<InspectedRows> {
  const clients = await openManageClients(options, keep, sink.report);
  const adapter = await openAdapter(clients, keep, entries, options.nova ?? "allocation");
  const changes = await changesOf(all, clients, options, entries, adapter);
  const nics = all.length > 1 ? await readNics(clients.service) : null;
  return { clients, adapter, changes, nics };
}

async function wouldBe(
  { adapter, changes, nics }: InspectedRows,
  { inFlight: most }: ManageOptions,
): Promise<Managed> {
  const positions = await adapter.forward(most, nics).inspect(changes, false);
  const outcomes = { before: "to be managed", after: "managed already" } as const;
  const rows = changes.flatMap((change, at): readonly ManagedOne[] => {
    const position = positions[at];
    const { is = "other", reasons = [], inService } = position ?? {};
    const would = is === "before" || is === "after" ? outcomes[is] : "left";
    const what = inService === true ? "in service" : would;
    return [rowOf(change, what, recordIn(change, position), reasons)];
  });
  return { rows, stopped: false, leftovers: new Map(), inUse: new Set(), broke: null };
}

interface ManageOptions extends RestOptions {
  readonly run: string;
  readonly inFlight: number;
  readonly dryRun: boolean;
  /** Absent: the records are Ironic allocations. */
  readonly nova?: ServerWishes;
}

/** @throws MigrationError N2I-E100 with every error, before anything is opened */
function checkManageRequests(all: readonly ManageRequest[], { nova }: ManageOptions): void {
  const recordService = nova === undefined ? "allocation" : "nova";
  const faults = [
    ...all.flatMap((entry) =>
      requestFaults(entry, recordService).map((fault) => `${entry.node || "a machine"}: ${fault}`),
    ),
    ...repeatedFaults(all),
  ];
  if (faults.length > 0) throw new MigrationError("N2I-E100", listed(faults, MAX_LISTED, "; "));
}

const MAX_LISTED = 20;

async function unknownZones(
  all: readonly ManageRequest[],
  { zones }: Adapter,
): Promise<readonly string[]> {
  const zoneNames = new Set(all.flatMap(({ availability_zone: zone }) => nameOfZone(zone) ?? []));
  const existing = zoneNames.size === 0 ? null : await zones?.();
  return existing == null ? [] : [...zoneNames].flatMap((zone) => noZone(zone, existing) ?? []);
}

/**
 * Resolves each machine to its node uuid, with its started or a new record.
 *
 * @throws MigrationError N2I-E306 with every unknown node, N2I-E100 with every other error
 */
async function changesOf(
  all: readonly ManageRequest[],
  { service }: ManageClients,
  { inFlight: most }: ManageOptions,
  entries: Entries,
  adapter: Adapter,
): Promise<readonly ManageChange[]> {
  const idents = all.map(({ node }) => node);
  const found = await readUuids(service, idents, most);
  const missing = idents.flatMap((ident, at) => (found[at] == null ? [JSON.stringify(ident)] : []));
  if (missing.length > 0)
    throw new MigrationError("N2I-E306", `Ironic has no node ${listed(missing, NAMES)}`, {
      reason: "If a list has an unknown node, no machine is managed.",
      fix: "Correct the name. node list --adoptable --all lists every node.",
    });
  const uuids = found.flatMap((uuid) => uuid ?? []);
  const started = managedIn(entries);
  const distinct = new Set<string>();
  const faults = all.flatMap(({ name, availability_zone: zone }, at) => {
    const id = uuids[at] ?? "";
    const before = started.get(id)?.name ?? name;
    return [
      ...(distinct.size === distinct.add(id).size ? [`node ${id} is listed more than once`] : []),
      ...[zoneFault(zone, id) ?? []].flat(),
      ...(before === name ? [] : [`this run already manages node ${id} as ${before}`]),
    ];
  });
  // A started machine continues, even if its zone no longer exists.
  const rest = all.filter((_, at) => !started.has(uuids[at] ?? ""));
  const every = faults.length > 0 ? faults : await unknownZones(rest, adapter);
  if (every.length > 0) throw new MigrationError("N2I-E100", listed(every, MAX_LISTED, "; "));
  return all.map((request, at) => {
    const id = uuids[at] ?? "";
    const before = started.get(id);
    return before === undefined
      ? { id, server: randomUUID(), request, acts: [] }
      : { ...before.change, request };
  });
}
