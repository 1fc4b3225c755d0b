import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunPlan } from "../../../src/migrate/plan/loaded-plans.ts";
import { type Guarded, type Guards, STAGED } from "../../../src/model/handover.ts";
import type { Entry } from "../../../src/model/journal.ts";
import type { PlannedMachine, PlannedRecord } from "../../../src/model/plan.ts";
import { endOf } from "../../../src/run/finished.ts";
import { finish, type GuardedNode, runNodes } from "../../../src/window/finish/finish-part.ts";
import { CLEAR, FREE, finishingIn, PLANNED } from "./guarded.ts";

type Finishing = Parameters<typeof finish>[1];

const SEEN: Guarded = { ...PLANNED, maintenance_reason: null, reservation: null, taken: true };

interface Kind {
  readonly name: string;
  readonly row?: GuardedNode["row"];
  readonly asSite?: boolean;
  readonly seen?: Partial<Guarded> | null;
  /** What finish makes of it; left as it is without. */
  readonly becomes?: Partial<Guards>;
}

const [CLEANED, CLEANS] = [{ automated_clean: null }, { automated_clean: true }];
const HELD = { ...PLANNED, maintenance: true };
const LOOK = { maintenance: true, maintenance_reason: "look" };

/** Every kind of machine that finish may meet. */
const KINDS: readonly Kind[] = [
  { name: "a tenant's", becomes: CLEAR },
  { name: "another tenant's", becomes: CLEAR },
  { name: "unprotected by hand", seen: { ...CLEAR, automated_clean: false }, becomes: CLEAR },
  { name: "cleared already", seen: CLEAR },
  { name: "protected by an operator", seen: { protected_reason: "mine", automated_clean: null } },
  { name: "protected again by an operator", seen: { protected_reason: "mine" }, becomes: CLEANED },
  { name: "uncleaned by the site", asSite: true, becomes: { ...CLEAR, automated_clean: false } },
  { name: "cleaned by an operator", seen: CLEANS, becomes: { ...CLEAR, ...CLEANS } },
  { name: "free", row: FREE, seen: FREE },
  { name: "free, uncleaned by an operator", row: FREE, seen: { ...FREE, automated_clean: false } },
  { name: "of a release without guards", row: { provision_state: "active" }, seen: { ...CLEAR } },
  { name: "held by the plan", row: HELD, seen: LOOK, becomes: CLEANED },
  {
    name: "to be looked at, its disk protected by nothing else",
    row: { automated_clean: false, maintenance: true },
    seen: { ...CLEAR, ...LOOK, automated_clean: false },
  },
  { name: "nobody took it over", seen: { taken: false }, becomes: CLEAR },
  {
    ...{ name: "held by the plan, so that nobody takes it over", row: HELD },
    ...{ seen: { ...LOOK, taken: false }, becomes: CLEANED },
  },
  { name: "held once", row: HELD, becomes: CLEAR },
  { name: "gone", seen: null },
];

/** An Ironic, and a run's journal, that may die at any point: `dies` counts the writes to both. */
function world(kinds: readonly Kind[]) {
  const nodes = kinds.map(({ row = PLANNED, asSite = false }, at): GuardedNode => {
    const id = `n${at}`;
    return { id, bm_node_id: at, row: { ...row, uuid: id }, asSite };
  });
  const before = kinds.flatMap(({ seen = {} }, at) =>
    seen === null ? [] : [[`n${at}`, { ...SEEN, ...seen }] as const],
  );
  const rows = new Map<string, Guarded>(before);
  const entries: Entry[] = [];
  let [points, dies] = [0, Number.POSITIVE_INFINITY];
  const point = (): void => {
    points += 1;
    if (points === dies) throw new Error("killed");
  };
  const finishing: Finishing = {
    ...finishingIn(entries),
    guard: {
      observe: async (uuids) => new Map([...rows].filter(([uuid]) => uuids.includes(uuid))),
      write: async (uuid, seen, change) => {
        point();
        const row = rows.get(uuid);
        const fields = ["protected", "protected_reason", "automated_clean"] as const;
        if (row === undefined || row.reservation !== null) return "again";
        if (fields.some((field) => row[field] !== seen[field])) return "again";
        rows.set(uuid, { ...row, ...change });
        point();
        return "done";
      },
    },
    journal: {
      entries: () => entries,
      append: async (entry) => {
        point();
        entries.push(entry);
        point();
      },
    },
  };
  const plan = async function* (): AsyncGenerator<readonly GuardedNode[]> {
    yield nodes;
  };
  return {
    ...{ rows, entries, before: new Map(before) },
    after: new Map(
      before.map(([uuid, row]) => [uuid, { ...row, ...kinds[Number(uuid.slice(1))]?.becomes }]),
    ),
    points: () => points,
    run: (more: Partial<Finishing> = {}) => finish(plan(), { ...finishing, ...more }),
    undo: () => finish(plan(), finishing, true),
    dieAt: (nth: number) => {
      [points, dies] = [0, nth];
    },
    change: (uuid: string, values: Partial<Guarded>): void =>
      void rows.set(uuid, { ...(rows.get(uuid) ?? SEEN), ...values }),
  };
}

test("finish clears what this tool set, of every kind of machine, and nothing else; its undo puts exactly that back", async () => {
  const at = world(KINDS);
  const made = await at.run();
  assert.deepEqual(at.rows, at.after);
  const changed = KINDS.filter(({ becomes }) => becomes !== undefined).length;
  const gone = KINDS.flatMap(({ seen }, at) => (seen === null ? [`n${at}`] : []));
  assert.deepEqual(made, {
    ...{ changed, fine: KINDS.length - changed - gone.length, held: 3, untaken: 1, gone },
    ...{ skipped: [], stopped: false, broke: null },
  });
  assert.equal((await at.run()).changed, 0);
  const back = await at.undo();
  assert.deepEqual([back.changed, back.skipped], [changed, []]);
  assert.deepEqual(at.rows, at.before);
  assert.equal((await at.undo()).changed, 0);
});

test("killed at any point, finish goes on to its end, and its undo to where it began", async () => {
  const whole = world(KINDS);
  await whole.run();
  const points = whole.points();
  assert.ok(points > 20, `${points} points`);
  await whole.undo();
  const lasts = { run: points, undo: whole.points() - points };
  for (const first of ["run", "undo"] as const)
    for (let nth = 1; nth <= lasts[first]; nth += 1)
      for (const way of ["run", "undo"] as const) {
        const at = world(KINDS);
        if (first === "undo") await at.run();
        at.dieAt(nth);
        await assert.rejects(at[first](), /killed/);
        at.dieAt(Number.POSITIVE_INFINITY);
        await at[way]();
        const wanted = way === "run" ? at.after : at.before;
        assert.deepEqual(at.rows, wanted, `${way} after ${first}, ${nth}`);
      }
});

test("a machine that a conductor has reserved is waited for, and left when it does not let go", async () => {
  const at = world([{ name: "one" }, { name: "two" }]);
  at.change("n0", { reservation: "lab" });
  const { skipped: left, changed } = await at.run();
  assert.deepEqual([changed, left.map(({ reason: why }) => why)], [1, ["lab is working on it"]]);
  const sleeps = async (): Promise<void> => at.change("n0", { reservation: null });
  const again = await at.run({ clock: { now: () => 0, sleep: sleeps } });
  assert.deepEqual([again.changed, again.skipped], [1, []]);
});

test("a machine that is staged still is left, and one of another tenant by now is not protected again", async () => {
  const at = world([{ name: "one" }, { name: "two" }, { name: "three" }]);
  at.change("n0", { maintenance: true, maintenance_reason: STAGED });
  const [left, ...others] = (await at.run()).skipped;
  assert.deepEqual([left?.uuid, left?.state, others], ["n0", "staged", []]);
  at.change("n1", { instance_uuid: "another" });
  at.change("n2", { provision_state: "available", instance_uuid: null });
  const back = await at.undo();
  const reasons = back.skipped.map(({ reason: why }) => why);
  assert.deepEqual(reasons, ["it has a different instance now", "it is available now"]);
  assert.equal(back.changed, 0);
});

const ABOUT = { at: "2026-01-01T00:00:00.000Z", by: "a test" } as const;
const MACHINES = ["a", "b", "c"];

function planOf(sha256: string, blocked: readonly string[] = []): RunPlan {
  const machines = MACHINES.map((uuid, bm_node_id) => {
    const record = { resource: "node", row: { uuid, sha256 }, origins: [] };
    const isOut = blocked.includes(uuid);
    return {
      ...{ uuid, bm_node_id, verdict: isOut ? "blocked" : "create" },
      records: isOut ? [] : [record as unknown as PlannedRecord],
    } as unknown as PlannedMachine;
  });
  return {
    sha256,
    origins: [],
    lines: async function* () {
      yield machines;
    },
  };
}

const begin = (plan: string, from: number, to: number): Entry => ({
  do: "begin",
  ...{ part: "ironic", plan, from, to, ...ABOUT },
});
function undo(plan: string, nodes: readonly string[] | "all"): readonly Entry[] {
  const span = { part: "ironic", plan, from: 0, to: 3, ...ABOUT };
  const gone = { removed: 1, gone: 0, settled: [], conflicts: [] };
  return [
    { do: "undo", ...span, nodes },
    { do: "undone", ...span, ...gone },
  ];
}
const refused: Entry = {
  ...{ do: "aborted", part: "ironic", plan: "1", from: 0, to: 3, at: ABOUT.at, why: "refused" },
  rows: ["node:a"],
};

/** Each node by the plan it is of; `?` for one the run is whole without. */
async function told(plans: readonly RunPlan[], journal: readonly Entry[]): Promise<string> {
  const words: string[] = [];
  for await (const batch of runNodes(plans, journal, () => true))
    for (const { id, row, optional } of batch)
      words.push(`${id}${row.sha256}${optional === true ? "?" : ""}`);
  return words.join(" ");
}

test("the nodes of a run are those of every plan that loaded some, as the newest has them, but for what was taken back", async () => {
  const [one, two] = [planOf("1"), planOf("2", ["b"])];
  const loaded = begin("1", 0, 3);
  const cases: readonly (readonly [string, readonly RunPlan[], readonly Entry[], string])[] = [
    ["loaded", [one], [loaded], "a1 b1 c1"],
    ["stopped after its first batch", [one], [begin("1", 0, 1)], "a1 b1 c1"],
    ["one refused", [one], [loaded, refused], "a1 b1 c1"],
    ["one taken back", [one], [loaded, ...undo("1", ["a"])], "a1? b1 c1"],
    ["all taken back", [one], [loaded, ...undo("1", "all")], "a1? b1? c1?"],
    ["loaded again", [one], [loaded, ...undo("1", "all"), loaded], "a1 b1 c1"],
    ["blocked by a later plan", [two, one], [loaded], "a2 c2 b1"],
    ["and that loaded too", [two, one], [loaded, begin("2", 0, 3)], "a2 c2 b1"],
    ["never loaded, then blocked", [two, one], [begin("1", 0, 1)], "a2 c2"],
    ["taken back, then blocked", [two, one], [loaded, ...undo("1", ["b"])], "a2 c2"],
    ["all blocked later", [planOf("3", MACHINES), one], [loaded], "a1 b1 c1"],
  ];
  for (const [name, plans, journal, want] of cases)
    assert.equal(await told(plans, journal), want, name);
});

test("a run is ended by finish, until something is loaded, all protected again or all taken back", () => {
  const by = "a test";
  const at = "2026-01-02T00:00:00.000Z";
  const of = { at, by } as const;
  const end = { do: "close", plan: "p", ...of } as const;
  const span = { part: "ironic", plan: "p", from: 0, to: 1, at, by } as const;
  const begin: Entry = { do: "begin", ...span };
  const undo = (nodes: "all" | readonly string[]): Entry => ({ do: "undo", ...span, nodes });
  assert.deepEqual(endOf([begin, end]), { at, by });
  assert.equal(endOf([begin]), null);
  assert.equal(endOf([begin, end, begin]), null);
  assert.equal(endOf([end, undo("all")]), null);
  assert.notEqual(endOf([end, undo(["one"])]), null);
  // What becomes of Nova's rows ends nothing.
  assert.notEqual(endOf([end, { ...begin, part: "nova-hosts" }]), null);
  // One machine alone: Nova manages the others.
  assert.notEqual(endOf([end, { do: "returned", part: "finish", id: "n", at }]), null);
  assert.equal(endOf([end, { do: "reopen", ...of }]), null);
  assert.notEqual(endOf([{ do: "returned", part: "finish", id: "n", at }, end]), null);
});
