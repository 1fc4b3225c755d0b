import assert from "node:assert/strict";
import { test } from "node:test";
import { caseUuid } from "../../src/demo/case.ts";
import { refused, run, runs } from "../hostile/cli.ts";
import { plannedCloud } from "./planned.ts";
import { scene } from "./rest-scene.ts";
import { differences, rowsOf, sameRows } from "./rows.ts";

test("a rollback's preview says of each row of nova what the same command then does", async (t) => {
  const made = await plannedCloud("sqlite", t);
  assert.ok(made);
  const { act, at, reader, source, nova, writer } = made;
  assert.equal((await act(["apply"])).status, 0);
  // Somebody's: an instance changed since, and one that was made on the new host.
  await nova.db("instances").where({ id: 3 }).update({ host: "theirs" });
  await nova.db("instances").where({ id: 100_000 }).update({ host: "ironic-compute" });
  const words = ["rollback", ...at, ...reader, "--all", "--plan", "-f", "csv"];
  const actions = (out: string, action: string): readonly string[] =>
    [...out.matchAll(/^"(\w+)","(\w+)","([^"]+)"/gm)]
      .filter(([, found, table]) => found === action && table !== "node" && table !== "port")
      .map(([, , table, id]) => `${table}:${id}`)
      .toSorted();

  const without = await runs(0, words);
  assert.equal(actions(without.out, "restore").length, 0);
  assert.match(without.err, /^Rows of nova would stay as they are; --nova-db takes them back too/m);
  const withNova = await runs(0, [...words, ...source.slice(2, 4)]);
  assert.doesNotMatch(withNova.err, /would stay/);
  assert.deepEqual(actions(withNova.out, "leave"), [
    "aggregate_hosts:1/ironic-compute",
    "compute_nodes:3",
    "instances:3",
  ]);
  const third = caseUuid("node", 3);
  assert.match(withNova.out, new RegExp(`"leave","node","${third}",3,"in nova instances:3 was`));
  assert.match(withNova.out, /"instances","3",.*"was changed since in host"/);

  const applied = await rowsOf(nova);
  const back = await act(["rollback", "--all"]);
  assert.equal(back.status, 2, back.err);
  const restored = [...differences(applied, await rowsOf(nova)).keys()].toSorted();
  assert.deepEqual(restored, actions(withNova.out, "restore"));
  assert.match(back.out, /aggregate_hosts:1\/ironic-compute +\|/);
  assert.match(
    back.out,
    new RegExp(`machine:${third} +\\| in nova instances:3 was .* all of it stays`),
  );

  // What is left is told as that, and once nothing is, nothing is said of nova.
  await nova.db("instances").where({ id: 3 }).update({ host: "ironic-compute" });
  await nova.db("instances").where({ id: 100_000 }).update({ host: "kvm-0" });
  assert.equal((await act(["rollback", "--all"])).status, 0);
  const last = await run(["rollback", ...at, ...writer, "--all", "--yes", "-q"]);
  assert.equal(last.status, 0, last.out);
  assert.doesNotMatch(last.out, /Rows of nova/);
});

test("a rollback without a login for Nova's API is refused, and previewed so, before Ironic's rows go", async (t) => {
  const { act, specs, at, writer, novaWriter, ironic } = await scene(t);
  const untouched = specs();
  assert.equal((await act(["apply"])).status, 0);
  const loaded = await rowsOf(ironic);
  const words = ["rollback", ...at, ...writer, ...novaWriter, "--all", "--yes", "-q"];
  for (const more of [["--plan"], []]) await refused([...words, ...more], 64, "N2I-E106");
  sameRows(await rowsOf(ironic), loaded);
  assert.equal((await act(["rollback", "--all"])).status, 0);
  assert.equal(specs(), untouched);
});
