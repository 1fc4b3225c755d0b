import assert from "node:assert/strict";
import { test } from "node:test";
import { scopeOptions } from "../../src/migrate/rollback/rollback-scope.ts";
import type { Entry } from "../../src/model/journal.ts";
import { type RunFiles, takenBack, wasStaged } from "../../src/run/files/run-files.ts";
import { releasedNodes } from "../../src/window/handover/hand-over.ts";
import { unfinished } from "../../src/window/runner/pipeline.ts";
import { handoverOf } from "../../src/window/runner/run-state.ts";
import { statusOf } from "../../src/window/runner/status.ts";
import { PLAN, SHA, SNAPSHOT } from "../support/run-files.ts";

const span = { part: "ironic", plan: SHA, from: 0, to: 2, at: "2026-11-21T00:00:00Z" };
const LOADED: readonly Entry[] = [
  { do: "begin", ...span, by: "root@host" },
  { do: "done", ...span, created: 4, found: [] },
];
const NONE_LEFT = { gone: 0, settled: [], conflicts: [] };
const LOST = { missing: "N2I-E111 plan.json ends within a line" };

function status(entries: readonly Entry[], more: Partial<RunFiles> = {}) {
  const journal = { entries };
  return statusOf({ snapshot: SNAPSHOT, plan: PLAN, journal, handover: null, ...more });
}

test("what was loaded is told though its plan is lost", () => {
  const { fields, next } = status(LOADED, { plan: LOST });
  assert.equal(fields.apply, "plan aaaaaaaaaaaa: 4 rows created in 1 batch");
  assert.match(next, /^nova2ironic plan /);
});

test("with a broken journal, verify is next and not apply", () => {
  const journal = { missing: "N2I-E112 journal.jsonl:3 does not follow from line 2" };
  const { fields, next } = status([], { journal });
  assert.match(fields.apply ?? "", /^N2I-E112 /);
  assert.match(next, /^nova2ironic verify /);
});

test("a plan without Nova is planned again with it, and what was begun so goes on so", () => {
  assert.match(status([]).next, /^nova2ironic plan .*--nova-db DB .* {2}# .*--leave-nova$/);
  const { next } = status(LOADED.slice(0, 1));
  assert.match(next, /^nova2ironic apply --run RUN --yes --leave-nova {2}# resumes/);
});

test("a load that was staged waits for its release, then for the conductors", () => {
  const next = (released: number, compared = false, more: Partial<RunFiles> = {}) =>
    status(LOADED, { handover: { staged: 2, released, takeOvers: 0 }, compared, ...more });
  // Stopped amid the verify that ends apply: nothing is handed over that nobody compared.
  assert.match(next(0).next, /^nova2ironic verify (?!.*--takeover)/);
  const { next: then } = next(0, false, { finish: { end: null, guards: true } });
  assert.match(then, /# if it finds no difference: nova2ironic handover /);
  assert.match(next(0, true).next, /^nova2ironic handover /);
  assert.equal(next(1).fields.handover, "1 of 2 staged machines released");
  assert.match(next(1).next, /^nova2ironic handover /);
  assert.match(next(2).next, /^nova2ironic verify --run RUN --takeover$/);
});

test("a rollback of everything ends what was staged and released before it", () => {
  const span = { part: "ironic", plan: SHA, from: 0, to: 2 };
  const begin = { do: "begin", ...span, at: "1", by: "me", staged: true } as const;
  const undo = { do: "undo", ...span, nodes: "all", at: "3", by: "me" } as const;
  const release = (at: string) =>
    ({ part: "hand-over", do: "start", id: "n", at, by: "me" }) as const;
  assert.deepEqual([wasStaged([begin], SHA), wasStaged([begin, undo], SHA)], [true, false]);
  assert.deepEqual([...releasedNodes([begin, release("2"), undo])], []);
  assert.deepEqual([...releasedNodes([begin, release("2"), undo, release("4")])], ["n"]);
  assert.deepEqual([...releasedNodes([release("2"), { ...undo, nodes: ["other"] }])], ["n"]);
});

test("a rollback of Ironic alone is followed by Nova's", () => {
  const undo = { do: "undo", ...span, nodes: "all", by: "me" } as const;
  const back = { do: "undone", ...span, removed: 4, ...NONE_LEFT } as const;
  const entries = [...LOADED, undo, back];
  assert.equal(takenBack([...entries, LOADED[0] ?? undo]), null);
  const machines = takenBack(entries);
  assert.equal(machines, "all");
  const next = (rows: number) => {
    const still = { rows, machines: "all" } as const;
    return status(entries, { nova: { plan: null, entries: [], remaining: still } }).next;
  };
  assert.equal(next(7), "nova2ironic rollback --run RUN --all  # 7 rows of nova to restore");
  assert.match(next(0), /^nova2ironic plan .*rolled back/);
});

test("machines taken back one by one are named, and no more of them than a line holds", () => {
  const undo = (...nodes: readonly string[]) =>
    ({ do: "undo", ...span, nodes, by: "me" }) satisfies Entry;
  const machines = takenBack([...LOADED, undo("a"), undo("b", "a")]) ?? "all";
  assert.deepEqual(scopeOptions(machines), { node: ["a", "b"] });
  const many = takenBack([...LOADED, undo(...Array.from("abcdefghi"))]) ?? "all";
  assert.deepEqual(scopeOptions(many), { node: ["UUID"] });
});

test("a staged load that is killed before it begins goes on staged", () => {
  const at = "2026-11-21T00:00:00Z";
  const open: Entry = { do: "target", system: "ironic", target: { release: "kilo" }, at };
  const staged: Entry = { ...open, staged: true };
  const [begin] = LOADED;
  assert.deepEqual(
    [wasStaged([], SHA), wasStaged([open], SHA), wasStaged([staged], SHA)],
    [false, false, true],
  );
  assert.ok(begin && !wasStaged([staged, begin], SHA), "the load that began was not");
  const nova = { plan: { sha256: SHA, counts: NONE }, entries: [] };
  const { next } = status([staged], { nova, handover: { staged: 2, released: 0, takeOvers: 2 } });
  assert.equal(next, "nova2ironic apply --run RUN --staged");
});

const NONE = { hosts: 0, flavors: 0, findings: 0, stopped: [] };

test("what verify found as planned is behind us: takeover, nova-compute, finish", () => {
  const finish = { end: null, guards: true } as const;
  const nova = { plan: { sha256: SHA, counts: NONE }, entries: [] };
  const next = (verified: Partial<NonNullable<RunFiles["verified"]>>, rest = false): string =>
    status(LOADED, {
      ...{ finish, nova },
      rest,
      verified: { rows: false, takeover: false, final: false, ...verified },
    }).next;
  assert.match(next({}), /^nova2ironic verify .*# if it finds no difference: nova2ironic finish /);
  assert.match(next({ rows: true }), /^nova2ironic verify .* --takeover {2}# once every/);
  assert.match(next({ rows: true }, true), /^nova2ironic verify .* --final {2}# once the new/);
  assert.match(next({ takeover: true }), /^nova2ironic verify --run RUN --final /);
  assert.match(next({ final: true }), /^nova2ironic finish /);
});

const NOBODY: ReadonlySet<string> = new Set();

test("a rollback that is not through goes on, and one of some machines says so", () => {
  const machine = "11111111-1111-4111-8111-111111111111";
  const undone = { do: "undone", ...span, removed: 2, ...NONE_LEFT } as const;
  const told = (undo: object, held: RunFiles["rows"]) => {
    const entries: readonly Entry[] = [
      ...LOADED,
      { do: "undo", ...span, nodes: [machine], by: "me", ...undo },
      undone,
    ];
    const journal = { entries };
    const there = { snapshot: SNAPSHOT, plan: PLAN, journal, handover: null };
    const files = { ...there, ...(held && { rows: held }) };
    return { ...statusOf(files), open: unfinished(files) };
  };
  for (const undo of [{ nodes: "all" }, { all: true }]) {
    const { fields, next, open } = told(undo, { rows: 2, machines: 1, skipped: NOBODY });
    assert.match(
      fields.apply ?? "",
      /2 rows rolled back; 2 rows of 1 machine are still in Ironic$/,
    );
    assert.match(
      next,
      /^nova2ironic rollback .*--all {2}# 2 rows of 1 machine are still in Ironic$/,
    );
    assert.equal(open?.next, next);
    assert.match(open?.reason ?? "", /^its rollback is not complete: 2 rows /);
    assert.match(
      told(undo, { rows: 0, machines: 0, skipped: NOBODY }).next,
      /^nova2ironic plan .*# rolled back;/,
    );
  }
  const one = told({}, { rows: 2, machines: 1, skipped: NOBODY });
  assert.match(one.next, /^nova2ironic plan .*# 1 of 2 machines was rolled back: /);
  assert.equal(one.open, null);
});

/** A plan that finds machines of an earlier run in Ironic, and of which one more is loaded. */
async function* lines() {
  for (const [at, verdict] of ["unchanged", "unchanged", "create"].entries()) {
    const row = { uuid: `n${at}`, provision_state: at === 2 ? "active" : "available" };
    yield [{ verdict, bm_node_id: at, records: [{ resource: "node", row }] }];
  }
}

/** What the run of these plans stages, and what of it is released. */
function handed(...plans: readonly string[]) {
  const entries = plans.map((plan) => ({
    ...{ do: "begin", part: "ironic", plan, from: 0, to: 3, staged: true, at: "", by: "" },
  }));
  const plan = { footer: { sha256: plans.at(-1) }, lines };
  // Nothing else of them is looked at.
  return handoverOf(plan as never, entries as unknown as readonly Entry[]);
}

test("a run stages what it loads, and an earlier plan of it too, not what another run loaded before it", async () => {
  assert.deepEqual(await handed("one"), { staged: 1, released: 0, takeOvers: 1 });
  assert.deepEqual(await handed("one", "two"), { staged: 3, released: 0, takeOvers: 1 });
});
