import assert from "node:assert/strict";
import { test } from "node:test";
import type { Case } from "../../cases/case.ts";
import { refused, runs } from "../../hostile/cli.ts";
import { digest } from "../../hostile/digest.ts";
import { SMALL, tenant } from "../../hostile/fleet.ts";
import { rehearsing, restored } from "./scene.ts";

const nodes = [tenant(1), { id: 2 }, tenant(3, { task_state: "building" })];
const BLOCKED: Case = { ...SMALL, nova_bm: { nodes } };

const THEIRS = "d0000000-0000-4000-8000-000000000001";

test("what apply would refuse is told with its code, and the rest is rehearsed without it", async (t) => {
  const made = await rehearsing("sqlite", t, BLOCKED);
  const { words, found, dump, at } = made;
  const before = await dump();
  const { err } = await runs(4, [...words, "--yes"]);
  assert.match(err, /^apply would be refused: N2I-E304 1 machine is blocked/m);
  assert.match(err, /It was rehearsed without the excluded machines\.$/m);
  assert.match(err, /^The rehearsal failed: /m);
  const { stages, refusals, held, as_before } = found();
  assert.deepEqual([stages.length, refusals.length, held, as_before], [5, 1, false, true]);
  const status = await runs(0, ["status", ...at]);
  assert.match(status.out, /failed: apply would be refused \(N2I-E304\)/);
  const again = await restored(t, made, made.ironic);
  await runs(0, ["rehearse", ...at, "--ironic-db", again.url, "--skip-blocked", "--yes"]);
  assert.equal(found().held, true);
  assert.equal(await dump(), before);
});

test("a node that came since the plan ends the rehearsal where it would end apply", async (t) => {
  const { words, found, copy } = await rehearsing("sqlite", t);
  await copy.db("nodes").insert({ uuid: THEIRS, driver: "fake" });
  const { err, out } = await runs(4, [...words, "--yes"]);
  assert.match(err, /^apply would be refused: N2I-E312 Ironic has 1 node/m);
  assert.match(out, /refused: N2I-E312/);
  const [one, ...others] = found().stages;
  assert.deepEqual([one?.stage, others], ["apply", []]);
});

test("a rollback that leaves the copy other than it was is no rehearsal that held", async (t) => {
  const { words, found, copy } = await rehearsing("sqlite", t);
  // What somebody's trigger does on each delete.
  await copy.db.raw(
    "CREATE TRIGGER theirs AFTER DELETE ON nodes BEGIN INSERT INTO conductors (hostname, drivers) VALUES (hex(randomblob(4)), '[]'); END",
  );
  const { err } = await runs(2, [...words, "--yes"]);
  assert.match(err, /^Rollback: the copies are NOT the same as before\.$/m);
  assert.equal(found().as_before, false);
});

test("rows that are not as planned are named with their fields", async (t) => {
  const { words, found, copy } = await rehearsing("sqlite", t);
  await copy.db.raw(
    "CREATE TRIGGER theirs AFTER INSERT ON nodes BEGIN UPDATE nodes SET driver = 'fake' WHERE id = NEW.id; END",
  );
  await runs(2, [...words, "--yes"]);
  const verified = found().stages.find(({ stage }) => stage === "verify");
  assert.match(verified?.result ?? "", /^not as planned: node [0-9a-f-]{36} mismatched: driver/);
});

test("another target than the plan's, and a run that is loaded, are refused before anything is written", async (t) => {
  const { words, bm, copy, at, writer } = await rehearsing("sqlite", t);
  await copy.db.schema.alterTable("nodes", (table) => void table.integer("one_more"));
  await refused([...words, "--yes", "-q"], 4, "N2I-E204", [/one_more/]);
  await copy.db.schema.alterTable("nodes", (table) => void table.dropColumn("one_more"));
  const other = ["rehearse", ...at, "--ironic-db", bm.url, "--yes", "-q"];
  await refused(other, 4, "N2I-E202", [/not an Ironic database/]);
  const none = ["rehearse", ...at, "--yes", "-q", "--without", "ironic-db"];
  await refused(none, 4, "N2I-E352", [/is missing \(--ironic-db\)/]);
  await runs(0, ["apply", ...at, ...writer, "--yes", "-q"]);
  const loaded = /machines of this run are already in Ironic/;
  await refused([...words, "--yes", "-q"], 4, "N2I-E352", [loaded]);
});

test("nothing is written to the copy without a yes", async (t) => {
  const { words, copy } = await rehearsing("sqlite", t);
  const before = await digest(copy);
  await refused([...words, "-q"], 4, "N2I-E303", [/--yes was not passed/]);
  assert.equal(await digest(copy), before);
});

test("status, next and the report take what was rehearsed until there was a load", async (t) => {
  const { words, at, reader, source, writer, plan } = await rehearsing("sqlite", t);
  const planning = ["plan", ...at, ...reader, ...source.slice(2, 4), ...plan, "-q"];
  await runs(0, planning);
  const { err } = await runs(0, [...words, "--yes"]);
  assert.match(err, /^Nova: the plan does not change any rows\. No compute host was checked\.$/m);
  const { out } = await runs(0, ["status", ...at]);
  assert.match(out, /rehearse +\| \S+Z, held: apply /);
  assert.match((await runs(0, ["next", ...at])).out, /4 rows at .* a second, as rehearsed/);
  const report = await runs(0, ["report", ...at, "--format", "md", "--all"]);
  assert.match(report.out, /as rehearsed \(rehearsal\.json\)/);
  assert.match(report.out, /held: apply/);
  // A plan without Nova is another one.
  await runs(0, ["plan", ...at, ...reader, ...plan, "-q"]);
  assert.match((await runs(0, ["status", ...at])).out, /for a different plan: rehearse this plan/);
  await runs(0, ["apply", ...at, ...writer, "--yes", "-q"]);
  const { out: loaded } = await runs(0, ["report", ...at, "--format", "md", "--all"]);
  assert.doesNotMatch(loaded, /as rehearsed/);
});
