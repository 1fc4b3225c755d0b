import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { onInterrupt } from "../../../src/cli/interrupt.ts";
import { ioOf } from "../../../src/cli/io.ts";
import {
  readVerified,
  rememberVerified,
  wasCompared,
} from "../../../src/migrate/verify/verified-file.ts";
import { verifyRun } from "../../../src/migrate/verify/verify.ts";
import { IRONIC, JOURNAL_FORMAT, plansOf } from "../../../src/model/journal.ts";
import { journalMark, openJournal, readJournal } from "../../../src/run/files/journal.ts";
import { openRun } from "../../../src/run/files/run-folder.ts";
import { surrounded } from "../../../src/run/process-context.ts";
import type { Sink } from "../../../src/run/sink.ts";
import { ends } from "../../crash/truth.ts";
import { privateFolder } from "../../hostile/deployment.ts";
import { fleet } from "../../support/fleet.ts";
import { scene } from "../../support/scene.ts";

const PLAN = "a".repeat(64);

test("a look that finds a difference ends what was built on it", async (t) => {
  const folder = privateFolder(t);
  const run = await openRun(join(folder, "run"), { create: true });
  const since = await journalMark(run.path);
  const found = async (how: "rows" | "takeover" | "final", equal: boolean) => {
    await rememberVerified(run, PLAN, since, { [how]: equal });
    const state = await readVerified(run, PLAN, 0);
    return [state?.rows, state?.takeover, state?.final];
  };
  await rememberVerified(run, PLAN, since, { ironic: true });
  assert.equal(await readVerified(run, PLAN, 0), undefined, "verify has not looked");
  assert.deepEqual(await found("rows", true), [true, false, false]);
  assert.equal(await wasCompared(run, PLAN, 0), true);
  assert.equal(await wasCompared(run, PLAN, 1), false);
  assert.deepEqual(await found("takeover", true), [true, true, false]);
  assert.deepEqual(await found("final", true), [true, true, true]);
  assert.deepEqual(await found("takeover", false), [true, false, false]);
  assert.deepEqual(await found("final", true), [true, false, true]);
  assert.deepEqual(await found("rows", false), [false, false, false]);
  assert.equal(await readVerified(run, "b".repeat(64), 0), undefined);
});

test("what is done while rows are looked at is not verified by that look", async (t) => {
  const folder = privateFolder(t);
  const run = await openRun(join(folder, "run"), { create: true });
  const at = "2026-01-01T00:00:00.000Z";
  const journal = await openJournal(run);
  t.after(() => journal.close());
  const before = await journalMark(run.path);
  await journal.append({ do: "open", format: JOURNAL_FORMAT, tool: "a test" });
  const open = await journalMark(run.path);
  const found = { rows: true, ironic: true };
  assert.equal(await rememberVerified(run, PLAN, before, found), false);
  assert.equal(await rememberVerified(run, PLAN, open, found), true);
  await journal.append({ do: "reopen", at, by: "a test" });
  assert.equal(await rememberVerified(run, PLAN, open, found), false);
  assert.equal(await readVerified(run, PLAN, 2), undefined);
  assert.equal(await wasCompared(run, PLAN, 2), false);
  assert.equal((await readVerified(run, PLAN, 1))?.rows, true, "the note of then stays");
});

test("verify keeps no note of rows that a rollback took meanwhile", async (t) => {
  const made = await scene("sqlite", t, fleet(3));
  await ends(0, made.does("apply", ["--yes"]));
  const run = await openRun(made.run, { create: false });
  const notes: string[] = [];
  const list: Sink["list"] = async (_, items) => {
    for await (const _one of items);
    await ends(0, made.does("rollback", ["--all", "--yes"]));
  };
  // Nothing else of it is used.
  const sink = {
    list,
    report: () => 0,
    note: (text: string) => notes.push(text),
  } as unknown as Sink;
  const world = {
    ...{ ...ioOf(process), connections: new Map(), saved: new Map(), window: {} },
    ...{ report: () => undefined, wait: () => undefined, onInterrupt },
  };
  const ironicDb = made.ironic[1] ?? "";
  const asked = { run: made.run, ironicDb, allRows: false, final: false };
  const { tally } = await surrounded(world, () => verifyRun(asked, sink));
  assert.equal(tally.validated, 6);
  assert.match(notes.join(), /verify again/);
  const { entries } = await readJournal(run);
  const plan = plansOf(entries, IRONIC)[0] ?? "";
  assert.equal(await wasCompared(run, plan, entries.length), false);
});
