import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ownedLines } from "../../src/engine/back.ts";
import { cutSmaller, inTransaction } from "../../src/engine/batches.ts";
import { ironicJournalled } from "../../src/migrate/apply/ironic.ts";
import type { Footer, PlanCounts, PlanHeader } from "../../src/model/artefact.ts";
import type { Entry } from "../../src/model/journal.ts";
import type { PlannedMachine, Verdict } from "../../src/model/plan.ts";
import { createdIn } from "../../src/window/check/check-run.ts";
import { holdsLater } from "../support/seeded.ts";

const SHA256 = "a".repeat(64);
const target = { engine: "sqlite" } as const;

function line(at: number, verdict: Verdict): PlannedMachine {
  const [uuid, port] = [`a-${at}`, `b-${at}`];
  const more = { origins: [], change: "create" } as const;
  return {
    ...{ bm_node_id: at, uuid, service_host: "c-1", verdict, reason: null, findings: [] },
    state: { row: "free", outcome: "free" },
    records: [
      { resource: "node", id: `node:${uuid}`, row: { uuid }, ...more },
      { resource: "port", id: `port:${port}`, row: { uuid: port }, ...more },
    ],
  };
}

const verdict = fc.constantFrom<Verdict>("create", "create", "create", "blocked", "unchanged");

/** What a journal can say of a batch of two, of which the last may be of one. */
function entriesOf(lines: number) {
  const from = fc.nat(Math.max(0, Math.ceil(lines / 2) - 1)).map((batch) => batch * 2);
  const ids = fc.array(
    fc.nat(lines).map((at) => `node:a-${at}`),
    { maxLength: 2 },
  );
  return fc.array(
    fc.tuple(from, ids, fc.nat(5)).map(([begin, found, what]): Entry => {
      const to = Math.min(begin + 2, lines);
      const about = { part: "ironic", plan: SHA256, from: begin, to, at: "" };
      const undone = { do: "undone", ...about, removed: 1, gone: 0, settled: [] } as const;
      return (
        (
          [
            { do: "done", ...about, created: 1, found },
            { do: "aborted", ...about, why: "refused", rows: found },
            { do: "undo", ...about, by: "", nodes: "all" },
            { do: "undo", ...about, by: "", nodes: found.map((id) => id.slice(5)) },
            { ...undone, conflicts: found },
          ] as const
        )[what] ?? { do: "begin", ...about, by: "" }
      );
    }),
    { maxLength: 12 },
  );
}

test("nodes that a plan creates are this run's own as the plan's lines are, read once more", async (t) => {
  const before = inTransaction();
  cutSmaller(2);
  t.after(() => cutSmaller(before));
  const plans = fc.array(verdict, { minLength: 1, maxLength: 7 });
  const given = plans.chain((all) => fc.tuple(fc.constant(all), entriesOf(all.length)));
  await holdsLater(400, given, async ([verdicts, entries]) => {
    const machines = verdicts.map((one, at) => line(at, one));
    const header = { target } as PlanHeader & { readonly origins: [] };
    const footer = { sha256: SHA256 } as Footer<PlanCounts>;
    const created = createdIn({ header, footer });
    for (const one of machines) created.add(one);
    const lines = async function* () {
      yield await Promise.resolve(machines);
    };
    const leg = ironicJournalled(target, { sha256: SHA256, lines });
    const wanted: string[] = [];
    for await (const batch of ownedLines(leg, entries, { wants: () => true }))
      for (const { line: of, changes } of batch)
        if (changes.some(({ resource }) => resource === "node")) wanted.push(of.uuid ?? "");
    assert.deepEqual([...created.owned(entries)], wanted);
  });
});
