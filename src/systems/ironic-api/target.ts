import { grouped } from "../../lib/grouped.ts";
import { isObject, objectOf } from "../../lib/json.ts";
import type { Outcome } from "../../model/change.ts";
import type { RestDoc } from "../../model/ironic/rest.ts";
import type { Claims, Current, Target, Verifier } from "../../model/ironic/target.ts";
import type { Row } from "../../model/machine.ts";
import type { Resource, Step } from "../../model/plan.ts";
import type { Seal } from "../../model/secret.ts";
import type { Answer } from "../openstack/session.ts";
import { adopt } from "./adopt.ts";
import { type Link, maskedIn, pages, rowsOf } from "./body.ts";
import { CONDUCTORS, readConductors } from "./conductors.ts";
import type { AdoptedMachine, AdoptionOutcome } from "./create.ts";
import type { Failpoint } from "./node.ts";
import { gate, inFlight } from "./pool.ts";
import { judgeRemoval, remove, retryPolicyOf } from "./remove.ts";
import type { RestService } from "./service.ts";

interface Driving {
  readonly inFlight: number;
  /** Milliseconds for all locked machines together. */
  readonly lockWait?: number;
  /** Nodes whose protection finish removed. */
  readonly unprotected?: ReadonlySet<string>;
}

/** Relies on planned uuids, the mark in `extra`, and a read before every step, instead of locks. */
export function createRestTarget(
  service: RestService,
  doc: RestDoc,
  seal: Seal,
  { inFlight: most, lockWait = 0, unprotected = new Set() }: Driving,
  failpoint: Failpoint = () => Promise.resolve(),
): Target & { readonly verifier: Verifier } {
  /** Whether the current batch may have changed anything. */
  let touched = false;
  // Most machines wait for a conductor or BMC. More calls only slow the service (bench adopt).
  const calls = Math.max(2, Math.ceil(most / 2));
  const link: Link = {
    rows: rowsOf(doc, service.minor, seal),
    service: watched(service, failpoint, gate(calls), (answer) => {
      touched ||= answer.status < 400 || answer.status >= 500;
    }),
  };
  const count = async (collection: string): Promise<number> => {
    let sum = 0;
    for await (const page of pages(service, collection, "&fields=uuid")) sum += page.length;
    return sum;
  };
  let listing: Promise<Current> | undefined;
  const retryPolicy = retryPolicyOf(lockWait);
  return {
    identity: service.identity,
    verifier: createVerifier(link),
    service: () => readConductors(service),
    counts: async () => ({ nodes: await count("nodes"), ports: await count("ports") }),
    async current(claims) {
      listing ??= listAll(link);
      return among(await listing, claims);
    },
    async judge(steps) {
      await seesAll(service);
      const hanging = await readForeign(service);
      const judged = await inFlight(
        machinesOf(steps, ({ before }) => before),
        most,
        (machine) => judgeRemoval(link, machine, hanging),
      );
      return {
        found: judged.flatMap(({ found }) => found),
        skipped: judged.flatMap(({ skipped }) => skipped),
        waiting: judged.flatMap(({ waiting }) => waiting),
      };
    },
    lock: () =>
      Promise.resolve({ check: () => Promise.resolve(), release: () => Promise.resolve() }),
    async perform(steps, hooks) {
      const making = machinesOf(steps, ({ after }) => after);
      const taking = machinesOf(steps, ({ before }) => before);
      if (taking.length > 0) await seesAll(service);
      await hooks.precondition();
      touched = false;
      const hanging = taking.length === 0 ? new Map<string, string>() : await readForeign(service);
      const go = (
        machines: readonly AdoptedMachine[],
        work: (machine: AdoptedMachine) => Promise<AdoptionOutcome>,
      ): Promise<readonly Worked[]> =>
        inFlight(
          machines,
          most,
          async (machine) => [machine, await work(machine)] as const,
          ([, { broke }]) => broke !== null,
        );
      const worked = [
        ...(await go(making, (machine) => adopt(link, machine, { ...hooks, unprotected }))),
        ...(await go(taking, (machine) => remove(link, machine, hanging, retryPolicy))),
      ];
      return performed(worked, touched);
    },
  };
}

function watched(
  service: RestService,
  failpoint: Failpoint,
  turn: ReturnType<typeof gate>,
  answered: (answer: Answer) => void,
): RestService {
  return {
    ...service,
    ask: (path) => turn(() => service.ask(path)),
    async send(method, path, body) {
      await failpoint("rest.before");
      const answer = await turn(() => service.send(method, path, body));
      answered(answer);
      await failpoint("rest.after");
      return answer;
    },
    hiding: (secrets) => watched(service.hiding(secrets), failpoint, turn, answered),
  };
}

function machinesOf(
  steps: readonly Step[],
  rowOf: (step: Step) => Row | null,
): readonly AdoptedMachine[] {
  const machines = new Map<string, { uuid: string; node: Row | null; ports: Row[] }>();
  for (const step of steps) {
    const row = rowOf(step);
    if (row === null) continue;
    const uuid = String(step.resource === "node" ? row.uuid : row.node_uuid);
    const machine = machines.get(uuid) ?? { uuid, node: null, ports: [] };
    if (step.resource === "node") machine.node = row;
    else machine.ports.push(row);
    machines.set(uuid, machine);
  }
  return [...machines.values()];
}

type Worked = readonly [AdoptedMachine, AdoptionOutcome];

function performed(outcomes: readonly Worked[], touched: boolean): Outcome {
  const [cause] = outcomes.flatMap(([, { broke }]) => broke ?? []);
  return {
    done: outcomes.flatMap(([, { done }]) => done),
    found: outcomes.flatMap(([, { found }]) => found),
    skipped: outcomes.flatMap(([, { skipped }]) => skipped),
    failed: outcomes.flatMap(([{ uuid }, { failed }]) =>
      failed === null ? [] : [{ machine: uuid, reason: failed }],
    ),
    ...(cause !== undefined && {
      broke: {
        ...{ cause, untouched: !touched },
        completed: outcomes.filter(([, { broke }]) => broke === null).length,
      },
    }),
  };
}

function among({ nodes, ports }: Current, claims: Claims): Current {
  const any = (row: Row, columns: { readonly [column: string]: ReadonlySet<unknown> }): boolean =>
    Object.entries(columns).some(([column, values]) => values.has(row[column]));
  const ofNode = {
    uuid: new Set(claims.uuids),
    instance_uuid: new Set(claims.instance_uuids),
    name: new Set(claims.names),
  };
  const ofPort = { uuid: new Set(claims.port_uuids), address: new Set(claims.addresses) };
  return {
    nodes: nodes.filter((row) => any(row, ofNode)),
    ports: ports.filter((row) => any(row, ofPort)),
  };
}

/**
 * A project-scoped login gets 404 for others' nodes, which would seem deleted.
 *
 * @throws MigrationError N2I-E211
 * @source ironic: common/policy.py, baremetal:conductor:get and baremetal:node:list_all
 */
async function seesAll(service: RestService): Promise<void> {
  if (service.minor >= CONDUCTORS) await service.ask("/v1/conductors");
}

/** Collections attached to nodes, with the first minor of each. */
const HANGING = [
  ["portgroups/detail", 23, "a port group"],
  ["volume/connectors", 32, "a volume connector"],
  ["volume/targets", 32, "a volume target"],
] as const;

async function readForeign(service: RestService): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const [collection, since, what] of HANGING)
    if (service.minor >= since)
      for await (const page of pages(service, collection))
        for (const { node_uuid } of page.map(objectOf))
          found.set(String(node_uuid), `it has ${what} that this tool did not write`);
  return found;
}

/**
 * Reads all nodes and ports once into memory, because the API cannot select the rows of a batch.
 */
function createVerifier(link: Link): Verifier {
  let uncompared = 0;
  const list = async () => {
    const { nodes, ports } = await listAll(link);
    return {
      nodes: new Map(nodes.map((row) => [String(row.uuid), row])),
      ports: grouped(ports, ({ node_uuid }) => String(node_uuid)),
    };
  };
  let listing: ReturnType<typeof list> | undefined;
  const listOnce = () => {
    listing ??= list();
    return listing;
  };
  const marked = async (): Promise<readonly string[]> =>
    [...(await listOnce()).nodes].flatMap(([uuid, { extra }]) =>
      isObject(extra) && extra.nova_bm !== undefined ? [uuid] : [],
    );
  return {
    async rows(nodeUuids) {
      const all = await listOnce();
      const uuids = new Set(nodeUuids);
      const of = <T>(map: ReadonlyMap<string, T>): ReadonlyMap<string, T> =>
        new Map(
          [...uuids].flatMap((uuid) => {
            const found = map.get(uuid);
            return found === undefined ? [] : [[uuid, found] as const];
          }),
        );
      const nodes = of(all.nodes);
      for (const row of nodes.values()) uncompared += maskedIn({ ...row });
      return { nodes, ports: of(all.ports), unreadable: new Map() };
    },
    uncompared: () => uncompared,
    marked: async () => (await marked()).length,
    async *markedUuids() {
      yield await marked();
    },
  };
}

/** @throws MigrationError as `pages` */
async function listAll({ service, rows }: Link): Promise<Current> {
  const all = async (resource: Resource): Promise<readonly Row[]> => {
    const found: Row[] = [];
    for await (const page of pages(service, `${resource}s/detail`))
      found.push(...page.map((body) => rows.reported(resource, body)));
    return found;
  };
  return { nodes: await all("node"), ports: await all("port") };
}
