import { runWindow } from "../engine/window.ts";
import { ONE_BY_ONE } from "../engine/window-part.ts";
import { MigrationError } from "../lib/error.ts";
import { counted, listed, NAMES } from "../lib/text.ts";
import { isUuid } from "../lib/uuid.ts";
import { type ManageClients, openManageClients } from "../migrate/open/services.ts";
import { type RowVerdict, verdictsOf } from "../model/artefact.ts";
import { MANAGE, type ServerView } from "../model/ironic/manage.ts";
import type { Entries } from "../model/journal.ts";
import type { RestOptions } from "../run/cloud.ts";
import { closing } from "../run/databases.ts";
import { ENDED, type Rollback, type RollbackOptions, rollbackOf } from "../run/rollback.ts";
import { withSession } from "../run/session.ts";
import type { Sink } from "../run/sink.ts";
import { listVerdicts, type VerifiedRows } from "../run/verified.ts";
import { reasonOf } from "../systems/ironic-api/allocation.ts";
import { inFlight } from "../systems/ironic-api/pool.ts";
import { readRunning } from "../systems/ironic-api/running.ts";
import { checkSameIronic, openAdapter } from "./manage-adapter.ts";
import { changesBack, managedIn, openManaged } from "./manage-run.ts";
import { portsBound, recordOf, unseenNode } from "./steps/manage-acts.ts";
import { maintenanceFor } from "./steps/manage-nova-create.ts";

interface UnmanageOptions extends RestOptions, RollbackOptions {}

export const IN_FLIGHT = 4;

/**
 * Deletes the records of this run and restores nodes and ports. Ports are never deleted.
 *
 * @throws MigrationError N2I-E100, N2I-E305, N2I-E306
 */
export function managedBack(options: UnmanageOptions): Rollback {
  const { all, inFlight: most = IN_FLIGHT } = options;
  return rollbackOf({ kind: "manage" }, options, (sink) => ({
    nothing: "this run did not manage any machine",
    async find(run, entries) {
      const managed = managedIn(entries);
      return all && managed.size === 0 ? null : { run, entries, managed };
    },
    async open(found, keep) {
      const clients = await openManageClients(options, keep, sink.report);
      const chosen = await selectedRecords(options, found.entries, clients);
      const { address } = clients.service.identity;
      checkSameIronic(found.entries, address);
      return {
        ...found,
        chosen,
        address,
        adapter: await openAdapter(clients, keep, found.entries, null),
      };
    },
    question({ adapter: { target }, chosen, address }) {
      const machines = counted(chosen.size, "machine");
      return target.adapter === "nova"
        ? `Delete the Nova servers of ${machines} at ${address}? The machines keep running. Nova unbinds each port while it deletes the server. With network_interface neutron, the machine has no network during that time.`
        : `Delete the allocations of ${machines} at ${address}? The machines stay active and keep their power state.`;
    },
    back: ({ run, chosen, address, adapter }, reportSkipped) =>
      withSession(
        run,
        async (session) => {
          await session.begin(MANAGE, { ...adapter.target, address });
          let [done, skipped] = [0, 0];
          const changes = changesBack((id) => chosen.has(id));
          const pace = { ...ONE_BY_ONE, concurrency: most, inFlight: most };
          const leg = { part: adapter.back(most), command: "rollback", changes, pace };
          const end = await runWindow("back", leg, session, ({ change, position }) => {
            if (position.is === "after") done += 1;
            else {
              skipped += 1;
              reportSkipped([{ id: `node:${change.id}`, reason: position.reasons.join("; ") }]);
            }
          });
          sink.result(`Rollback: ${counted(done, "machine")} rolled back, ${skipped} left.`);
          if (end.broke !== null) throw end.broke;
          return end.stopped ? null : ENDED;
        },
        { afterWindow: true },
      ),
    async *previews({ managed, chosen, adapter }) {
      const changes = [...managed].flatMap(([id, { change }]) => (chosen.has(id) ? [change] : []));
      const positions = await adapter.back(IN_FLIGHT).inspect(changes, false);
      for (const [at, { is, reasons }] of positions.entries()) {
        const { id } = changes[at] ?? { id: "" };
        const about = { resource: "node", uuid: id, bm_node_id: null };
        if (is === "before") yield { action: "restore", ...about, reason: null };
        if (is === "other") yield { action: "leave", ...about, reason: reasons.join("; ") };
      }
    },
  }));
}

/**
 * @throws MigrationError N2I-E306 for a machine that the run did not manage, or an ambiguous name
 */
async function selectedRecords(
  { all, node = [], inFlight: most = IN_FLIGHT }: UnmanageOptions,
  entries: Entries,
  { service }: ManageClients,
): Promise<ReadonlySet<string>> {
  const managed = managedIn(entries);
  if (all) return new Set(managed.keys());
  const meant = await inFlight(node, most, async (one): Promise<readonly string[]> => {
    const uuid = one.toLowerCase();
    if (managed.has(uuid)) return [uuid];
    const called = [...managed].flatMap(([id, { name }]) => (name === one ? [id] : []));
    const found = isUuid(one) ? null : await readRunning(service, one, []);
    // The name of a record also identifies its machine.
    return found === null ? called : [...new Set([found.uuid, ...called])];
  });
  const of = (isMatch: (ids: readonly string[]) => boolean): readonly string[] =>
    node.filter((_, at) => isMatch(meant[at] ?? []));
  const shared = of((ids) => ids.length > 1);
  if (shared.length > 0)
    throw new MigrationError("N2I-E306", `${listed(shared, NAMES)} matches more than one machine`, {
      reason: "A node and the record of another node have this name.",
      fix: "Use the node's uuid. verify --all-rows lists them.",
    });
  const unknown = of(([id]) => id === undefined || !managed.has(id));
  if (unknown.length > 0)
    throw new MigrationError("N2I-E306", `this run did not manage ${listed(unknown, NAMES)}`, {
      reason:
        "Rollback affects only records of this run. A machine is identified by its node's uuid or name, or by its record's name.",
      fix: "Specify one of its machines. verify --all-rows lists them.",
    });
  return new Set(meant.flat());
}

/** @throws MigrationError N2I-E326 if the run managed no machine */
export function verifyManaged(
  options: RestOptions & { readonly run: string; readonly allRows?: boolean },
  sink: Sink,
): Promise<VerifiedRows> {
  return closing(async (keep) => {
    const { entries, managed } = await openManaged(options.run);
    if (managed.size === 0) throw new MigrationError("N2I-E326", `${options.run} has no machines`);
    const clients = await openManageClients(options, keep, sink.report);
    checkSameIronic(entries, clients.service.identity.address);
    const adapter = await openAdapter(clients, keep, entries, null);
    const verdicts = async function* (): AsyncGenerator<RowVerdict> {
      for (const [id, { change, name, open }] of managed) {
        const server = recordOf(change);
        const { node, record, ports } = await adapter.read(change);
        const row = verdictsOf(id);
        const again = change.back === true ? "rollback" : "node manage";
        const fault = nodeFault(id, node, server, { open, mark: change.server, again });
        yield row("node", fault ?? (await adapter.fault?.(change)) ?? null);
        const kind = adapter.target.adapter === "nova" ? "server" : "allocation";
        yield row(`${kind} ${name}`, recordFault(record, id));
        for (const port of portsBound(change))
          yield row(`port ${port}`, portFault(ports?.get(port)?.device_id, server));
      }
    };
    return listVerdicts(verdicts(), managed.size, sink, options.allRows);
  });
}

function nodeFault(
  id: string,
  node: ServerView["node"],
  server: string,
  { open, mark, again }: { readonly open: boolean; readonly mark: string; readonly again: string },
): string | null {
  if (node === null) return unseenNode(id);
  if (node.instance_uuid !== server)
    return `instance_uuid is ${node.instance_uuid ?? "null"}, expected ${server}`;
  if (node.provision_state !== "active") return `it is ${node.provision_state ?? "in no state"}`;
  if ([reasonOf(server), maintenanceFor(mark)].includes(node.maintenance_reason ?? ""))
    return `it is in maintenance by this run: run ${again} again`;
  return open ? `the run is not finished: run ${again} again` : null;
}

function recordFault(record: ServerView["record"], node: string): string | null {
  if (record === null) return "it was deleted";
  if (record.state !== "active") return `it is ${record.state}`;
  return record.node_uuid === node ? null : `it belongs to node ${record.node_uuid ?? "none"}`;
}

function portFault(device: string | undefined, server: string): string | null {
  if (device === undefined) return "it is not in Neutron";
  return device === server ? null : `device_id is ${device || "empty"}, expected ${server}`;
}
