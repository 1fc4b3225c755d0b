import { type Handover, type ObservedNode, STAGED } from "../../../src/model/handover.ts";
import type { Conductor } from "../../../src/model/ironic/service.ts";
import type { Entry } from "../../../src/model/journal.ts";
import type { release } from "../../../src/window/handover/handover.ts";
import type { PlannedNode } from "../../../src/window/handover/rules/judge.ts";

const LAB = { hostname: "lab", alive: true };

interface Nature {
  /** Seconds a conductor needs for a machine; infinite where passes alone take machines over. */
  readonly takes: number;
  /** What it says of a machine that it has taken over. */
  readonly says?: { readonly [uuid: string]: string };
}

function isWaiting({ maintenance, taker, reservation }: ObservedNode): boolean {
  return !maintenance && taker === null && reservation === null;
}

/** An Ironic that takes machines over by a clock that only sleeping moves. */
export function ironic(count: number, { takes, says = {} }: Nature) {
  const uuids = Array.from({ length: count }, (_, at) => `n${at + 1}`);
  const rows = new Map(uuids.map((uuid) => [uuid, { ...ROW, since: 0 }]));
  const entries: Entry[] = [];
  let events: readonly { readonly second: number; readonly work: () => void }[] = [];
  let [now, most] = [0, 0];
  const row = (uuid: string) => rows.get(uuid) ?? { ...ROW, since: 0 };
  const look = (uuid: string): ObservedNode => {
    const { since, ...here } = row(uuid);
    if (here.maintenance || now - since < takes * 1000) return here;
    return { ...here, taker: here.taker ?? LAB, last_error: says[uuid] ?? here.last_error };
  };
  const set = (uuid: string, from: boolean, to: boolean): Promise<boolean> => {
    const { maintenance, reservation } = row(uuid);
    if (maintenance !== from || reservation !== null) return Promise.resolve(false);
    if (maintenance && row(uuid).maintenance_reason !== STAGED) return Promise.resolve(false);
    const maintenance_reason = to ? STAGED : null;
    rows.set(uuid, { ...row(uuid), maintenance: to, maintenance_reason, since: now });
    const under = uuids.map(look).filter(isWaiting);
    most = Math.max(most, under.length);
    return Promise.resolve(true);
  };
  const handover: Handover = {
    observe: (asked) => Promise.resolve(new Map(asked.map((uuid) => [uuid, look(uuid)]))),
    clear: (uuid) => set(uuid, true, false),
    stage: (uuid) => set(uuid, false, true),
    service: () => Promise.resolve({ conductors, interfaces: null }),
  };
  let conductors: readonly Conductor[] = [CONDUCTOR];
  let lines: readonly string[] = [];
  const log = {
    read: () => {
      const gained = lines;
      lines = [];
      return Promise.resolve(gained);
    },
  };
  const sleep = (milliseconds: number): Promise<void> => {
    now += milliseconds;
    const due = events.filter(({ second }) => now >= second * 1000);
    events = events.filter((event) => !due.includes(event));
    for (const { work } of due) work();
    return Promise.resolve();
  };
  const releasing = (): Parameters<typeof release>[2] => ({
    journal: { entries: () => entries, append: async (entry) => void entries.push(entry) },
    ...{ handover, clock: { now: () => now, sleep }, now: () => new Date(now).toISOString() },
    ...{ by: "a test", stopping: () => false, logs: [log], progress: () => {} },
  });
  const change = (uuid: string, values: Partial<ObservedNode>): void =>
    void rows.set(uuid, { ...row(uuid), ...values });
  return {
    ...{ entries, releasing, change, now: () => now, most: () => most },
    /** Released, and neither reserved nor taken over, in their order. */
    waiting: () => uuids.filter((uuid) => isWaiting(row(uuid))),
    at: (second: number, work: () => void) => {
      events = [...events, { second, work }];
    },
    reserve: (uuid: string, reservation: string | null) => change(uuid, { reservation }),
    conductors: (...now: readonly Conductor[]) => {
      conductors = now;
    },
    alive: () => conductors.filter(({ alive }) => alive).map(({ hostname }) => hostname),
    logs: (...gained: readonly string[]) => {
      lines = gained;
    },
    hold: (uuid: string, maintenance_reason: string) =>
      change(uuid, { maintenance: true, maintenance_reason }),
    async *plan(): AsyncGenerator<readonly PlannedNode[]> {
      yield uuids.map((id, at) => ({ id, bm_node_id: at + 1, row: { ...PLANNED, uuid: id } }));
    },
  };
}

export const CONDUCTOR: Conductor = { hostname: "lab", group: "", alive: true, drivers: ["ipmi"] };
/** A node in use as it is loaded: staged. */
export const ROW: ObservedNode = {
  ...{ provision_state: "active", maintenance: true, maintenance_reason: STAGED },
  ...{ taker: null, reservation: null, last_error: null, power_state: null },
};
const PLANNED = { driver: "ipmi", provision_state: "active", maintenance: false };
