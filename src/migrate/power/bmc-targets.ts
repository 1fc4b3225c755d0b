import { setMaxListeners } from "node:events";
import { MigrationError } from "../../lib/error.ts";
import type { SnapshotLine, VirtualPower } from "../../model/machine.ts";
import type { ConductorIpmitool, PowerQuestion, PowerReading } from "../../model/power.ts";
import { isSealed, type Seal } from "../../model/secret.ts";
import { askVirtual } from "../../systems/bmc/virsh-ask.ts";
import type { MethodOf, PowerMethod, Secret } from "../transform/power-query.ts";
import { meaningOf } from "./rules/gate.ts";

/** Guests of one host, read in one login. */
interface Guests {
  readonly host: VirtualPower;
  readonly machines: { readonly bm_node_id: number; readonly macs: readonly string[] }[];
}

type OtherQueries = ReturnType<typeof newQueries>;

/** Machines that are not queried over IPMI, and the settings of all queries. */
export function newQueries() {
  const unread: ({ readonly id: number } & Pick<PowerReading, "address" | "verdict" | "detail">)[] =
    [];
  return { methods: new Map<number, PowerMethod>(), guests: new Map<string, Guests>(), unread };
}

/**
 * The queries of BMCs, one for each BMC and credential, as a stream. Machines with a shared BMC
 * come last, in one query.
 */
export async function* questionsOf(
  machines: ReturnType<typeof queriedMachines>,
  shared: ReadonlySet<string>,
  seal: Seal,
  otherQueries: OtherQueries,
): AsyncGenerator<PowerQuestion> {
  const groups = new Map<string, PowerQuestion & { readonly bm_node_ids: number[] }>();
  for await (const { id, method } of machines) {
    if (method === null) continue;
    otherQueries.methods.set(id, method);
    if (method.kind === "none") otherQueries.unread.push({ id, ...method });
    else if (method.kind === "virtual") {
      const key = JSON.stringify(method.host);
      const guests = otherQueries.guests.get(key) ?? { host: method.host, machines: [] };
      guests.machines.push({ bm_node_id: id, macs: method.macs });
      otherQueries.guests.set(key, guests);
    } else {
      const question = questionOf(id, method, seal);
      if (!shared.has(method.query)) {
        yield question;
        continue;
      }
      const { query, login } = method;
      const key = JSON.stringify([query, question.password(), opened(login.kg, seal)]);
      const group = groups.get(key) ?? { ...question, bm_node_ids: [] };
      group.bm_node_ids.push(id);
      groups.set(key, group);
    }
  }
  yield* groups.values();
}

function questionOf(
  id: number,
  { login }: PowerMethod & { readonly kind: "ipmi" },
  seal: Seal,
): PowerQuestion {
  const { address, port, user, password, kg, suite, level } = login;
  return {
    ...{ bm_node_ids: [id], address, port, user, level },
    password: () => opened(password, seal),
    ...(suite !== null && { suite }),
    ...(kg !== null && { kg: () => Buffer.from(opened(kg, seal), "hex") }),
  };
}

function opened(secret: Secret | null, seal: Seal): string {
  return isSealed(secret) ? seal.open(secret) : (secret ?? "");
}

/** A reading with its query, and advice for a conductor with this ipmitool. */
export function complete(
  reading: PowerReading,
  { methods: methodsById }: OtherQueries,
  ipmitool: ConductorIpmitool,
): PowerReading {
  const methods = reading.bm_node_ids.flatMap((id) => methodsById.get(id) ?? []);
  const [method] = methods;
  if (method === undefined) return reading;
  const machines = methods.map(({ digest }) => digest);
  const result = { ...reading, asked: { words: method.query, ipmitool, machines } };
  const { warnings, advice } = meaningOf(result, method, ipmitool);
  return { ...result, warnings, advice };
}

/** Machines to query: all without a reading, failed ones or named ones. */
export interface Selection {
  /** Verdicts of their last readings, or `failed` for all except ok. */
  readonly only: readonly string[] | null;
  readonly nodes: readonly string[];
  /** service_host of their nova-computes. */
  readonly hosts: readonly string[];
}

/**
 * The queries for a snapshot's machines, before the first is sent, and the selected bm_nodes.ids.
 * @throws MigrationError N2I-E306 for an unknown name
 */
export async function survey(machines: ReturnType<typeof queriedMachines>, selection: Selection) {
  const { nodes, hosts } = selection;
  const requested = new Set(nodes.map((text) => text.toLowerCase()));
  const unfound = new Set([...requested, ...hosts]);
  /** Digest of the query, including secrets, by bm_nodes.id. */
  const digests: Digests = new Map();
  const ids = new Set<number>();
  const once = new Set<string>();
  /** Queries of several machines. */
  const shared = new Set<string>();
  for await (const { id, uuid, host, method } of machines) {
    const names = [String(id), uuid].filter((name) => requested.has(name));
    const isOnHost = hosts.includes(host);
    for (const name of isOnHost ? [...names, host] : names) unfound.delete(name);
    if ((nodes.length === 0 || names.length > 0) && (hosts.length === 0 || isOnHost)) ids.add(id);
    if (method === null) continue;
    digests.set(id, method.digest);
    if (method.kind !== "ipmi") continue;
    if (once.has(method.query)) shared.add(method.query);
    once.add(method.query);
  }
  const unknown = [...unfound].map((name) => JSON.stringify(name)).join(", ");
  if (unknown !== "") throw new MigrationError("N2I-E306", `${unknown} is not in the snapshot`);
  return { digests, shared, ids };
}

type Digests = Map<number, string>;

/** Machines with their queries. Null if they are deleted or skipped by the site document. */
export async function* queriedMachines(
  lines: AsyncIterable<readonly SnapshotLine[]>,
  methodOf: MethodOf,
  isSelected: (id: number) => boolean = () => true,
) {
  for await (const batch of lines)
    for (const line of batch) {
      if ("orphan" in line || !isSelected(line.node.id)) continue;
      const { id, uuid, service_host } = line.node;
      const names = { uuid: uuid?.toLowerCase() ?? "", host: service_host ?? "" };
      yield { id, ...names, method: methodOf(line) };
    }
}

/**
 * Readings whose query is unchanged, with only the machines it applies to. After a new extract or
 * site document, only changed machines are queried again.
 */
export function validReadings(
  readings: Iterable<PowerReading>,
  digests: Digests,
): Map<number, PowerReading> {
  const result = new Map<number, PowerReading>();
  for (const reading of new Set(readings)) {
    const { bm_node_ids, asked } = reading;
    if (asked === undefined) continue;
    const isSame = (_: unknown, at: number): boolean =>
      asked.machines[at] === (digests.get(bm_node_ids[at] ?? 0) ?? null);
    const ids = bm_node_ids.filter(isSame);
    const machines = asked.machines.filter(isSame);
    const valid = { ...reading, bm_node_ids: ids, asked: { ...asked, machines } };
    for (const id of ids) result.set(id, valid);
  }
  return result;
}

/** Parallel hosts, each with its own process. */
const AT_ONCE = 16;

/** Queries virtualization hosts for their guests, one connection per host, in parallel. */
export async function* askGuests(
  { guests }: OtherQueries,
  { deadline = 60_000, signal }: { readonly deadline?: number; readonly signal: AbortSignal },
): AsyncGenerator<PowerReading> {
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  setMaxListeners(0, either);
  const options = { deadline, signal: either, now: () => new Date() };
  const waiting = [...guests.values()];
  const running = new Map<Guests, Promise<readonly [Guests, readonly PowerReading[]]>>();
  try {
    for (;;) {
      for (const one of waiting.splice(0, signal.aborted ? 0 : AT_ONCE - running.size)) {
        const asking = askVirtual(one.host, one.machines, options);
        const pair = asking.then((readings) => [one, readings] as const);
        running.set(one, pair);
      }
      if (running.size === 0) return;
      const [one, readings] = await Promise.race(running.values());
      running.delete(one);
      yield* readings;
    }
  } catch (error) {
    // If the run was stopped, the next run queries the rest.
    if (!signal.aborted) throw error;
  } finally {
    stop.abort();
    await Promise.allSettled(running.values());
  }
}
