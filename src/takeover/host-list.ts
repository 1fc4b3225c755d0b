import { isUp } from "../migrate/hosts/rules/running.ts";
import type { ComputeHost, OwnedMachine, OwnedRow } from "../model/nova/host-move.ts";
import { isExtended } from "../model/nova/leases.ts";
import { closing, openRole } from "../run/databases.ts";
import { columnNames, tableNames } from "../systems/database/identity.ts";
import type { Database } from "../systems/database/open.ts";
import { inOrder, sql } from "../systems/database/read.ts";
import { integer, number, text } from "../systems/database/rows.ts";
import { clockOf } from "../systems/database/statement.ts";
import { readSchema } from "../systems/nova-bm/open.ts";
import { privileges } from "../systems/nova-db/host-rights.ts";
import { everyNode, openMachines } from "../systems/nova-db/machines.ts";
import { identifyNova, MOVED_TABLES } from "../systems/nova-db/plan-open.ts";
import { readServices } from "../systems/nova-db/services.ts";
import { downTime } from "./host-watch.ts";
import { readLeases } from "./leases/leases.ts";
import { holderText, takenLocks } from "./leases/locks.ts";
import { live } from "./leases/nodes.ts";
import { isFenced } from "./rules/move-hosts.ts";
import type { HostOptions } from "./target.ts";

/** Lists nova-baremetal's machines, or those with an Ironic compute node or only an instance. */
export function listHosts(
  options: HostOptions,
  work: (rows: AsyncIterable<OwnedRow>) => Promise<void>,
): Promise<void> {
  return closing(async (keep) => {
    const { novaDb, novaBmDb } = options;
    const down = await downTime(options);
    const database = keep(await openRole("nova-db", novaDb, { readOnly: true }));
    await identifyNova(database, MOVED_TABLES);
    const hosts = new Map((await readServices(database)).map((one) => [one.host, one]));
    if (novaBmDb !== undefined) {
      const bm = keep(await openRole("nova-bm-db", novaBmDb, { readOnly: true }));
      return work(legacyRows(bm, hosts, down));
    }
    await privileges(database, true);
    const machines = await openMachines(database);
    async function* rows(): AsyncGenerator<OwnedRow> {
      for await (const nodes of everyNode(database))
        for (const machine of await machines.of(nodes)) {
          const { computes } = machine;
          // A compute node may be deleted while the node has an instance.
          if (computes.length === 0 || computes.some((row) => row.hypervisor_type === "ironic"))
            yield rowOf(machine, hosts, down);
        }
    }
    await work(rows());
  });
}

function rowOf(
  { node, computes, instances }: OwnedMachine,
  hosts: ReadonlyMap<string, ComputeHost>,
  down: number,
): OwnedRow {
  const hostNames = [...computes.map((row) => row.owner), ...instances.map(({ host }) => host)];
  const owners = [...new Set(hostNames.flatMap((host) => host ?? []))];
  const service = hosts.get(owners[0] ?? "");
  const [instance] = instances;
  return {
    ...{ machine: node, name: null, owner: owners.join(", ") || null },
    ...{ age: service?.age ?? null, epoch: null },
    up: upOf(service, down),
    lock:
      service !== undefined && isFenced(service)
        ? (service.disabled_reason ?? "forced down")
        : null,
    state: instance === undefined ? "idle" : (instance.task_state ?? instance.vm_state),
    instance: instances.map(({ uuid }) => uuid).join(", ") || null,
  };
}

function upOf(service: ComputeHost | undefined, down: number): boolean | null {
  return service === undefined ? null : !isFenced(service) && isUp(service, down);
}

async function* legacyRows(
  bm: Database,
  hosts: ReadonlyMap<string, ComputeHost>,
  down: number,
): AsyncGenerator<OwnedRow> {
  await readSchema(bm);
  const extended = isExtended(await tableNames(bm), await columnNames(bm, "bm_nodes"));
  const leases = extended ? await readLeases(bm) : [];
  const fenced = new Map(leases.map(({ host, fenced_by }) => [host, fenced_by]));
  const taken = extended ? await takenLocks(bm) : [];
  const locks = new Map(taken.map((lock) => [lock.resource, holderText(lock)]));
  const fields = {
    ...{ id: number, uuid: text, service_host: text, task_state: text, instance_uuid: text },
    epoch: sql(extended ? "service_epoch" : "NULL", integer),
    silent: sql(extended ? `${clockOf(bm.engine)} - service_heartbeat_ms` : "NULL", integer),
  };
  for await (const page of inOrder(bm, fields, "bm_nodes", live(bm)))
    for (const { id, uuid, service_host, task_state, instance_uuid, epoch, silent } of page) {
      const service = hosts.get(service_host ?? "");
      const by = fenced.get(service_host ?? "") ?? null;
      const resources = [`node:${uuid}`, `instance:${instance_uuid}`, `host:${service_host}`];
      yield {
        ...{ machine: uuid ?? `bm_nodes.id=${id}`, name: null, owner: service_host, epoch },
        age: silent === null ? (service?.age ?? null) : Math.floor(silent / 1000),
        up: upOf(service, down),
        lock:
          resources.flatMap((name) => locks.get(name.toLowerCase()) ?? locks.get(name) ?? [])[0] ??
          (by === null ? null : `fenced by ${by}`),
        state: task_state ?? (instance_uuid === null ? "idle" : null),
        instance: instance_uuid,
      };
    }
}
