import assert from "node:assert/strict";
import { test } from "node:test";
import { caseUuid } from "../../../src/demo/case.ts";
import { ends, refused, run, runs } from "../../hostile/cli.ts";
import { plannedCloud } from "./planned.ts";
import { differences, rowsOf, sameRows } from "./rows.ts";

test("nova's rows come back when Ironic's are gone, though no Ironic answers any more, and not before", async (t) => {
  const made = await plannedCloud("sqlite", t);
  const { act, writer, novaWriter } = made;
  const back = ["rollback", "--run", made.run, "--all", "--yes"];
  const nowhere = ["--ironic-db", `sqlite:///${made.folder}/gone.sqlite`, ...novaWriter];
  await ends(0, act(["apply"]));
  const { nova } = await made.now();
  await refused([...back, ...nowhere, "-q"], 1, "N2I-E200");
  sameRows((await made.now()).nova, nova);

  const half = await ends(2, run([...back, ...writer]));
  assert.match(half.out, /^Rows of nova that this run changed are as they are; --nova-db /m);
  sameRows((await made.now()).nova, nova);
  const still = await runs(0, ["status", ...made.at]);
  const { size } = differences(made.before.nova, nova);
  // The run knows both databases.
  const next = `rollback --run \\S+ --all {2}# ${size} rows of nova`;
  assert.match(still.err, new RegExp(`^Next: nova2ironic ${next} are changed still$`, "m"));
  assert.match(still.out, new RegExp(`taken from Ironic, ${size} rows are changed still`));

  const rest = await ends(0, run([...back, ...nowhere]));
  assert.match(rest.err, /^Nothing of this run is left in Ironic, which is not asked: /m);
  await made.isAsBefore();
  const last = await runs(0, ["status", ...made.at]);
  assert.match(last.err, /^Next: nova2ironic plan .*rolled back/m);
  assert.match(last.out, /of what was taken from Ironic, 0 rows are changed still/);
});

test("a machine taken back alone says that nova's rows of this run stay", async (t) => {
  const made = await plannedCloud("sqlite", t);
  await ends(0, made.act(["apply"]));
  const one = await ends(
    2,
    run(["rollback", "--run", made.run, "--node", "1", "--yes", ...made.writer]),
  );
  assert.match(one.out, /^Rows of nova that this run changed are as they are/m);
  const { err } = await runs(0, ["status", ...made.at]);
  const node = caseUuid("node", 1);
  assert.match(
    err,
    new RegExp(`rollback --run \\S+ --node ${node} {2}# 2 rows of nova are changed`),
  );
});

test("a rollback's preview says of each row of nova what the same command then does", async (t) => {
  const made = await plannedCloud("sqlite", t);
  const { act, at, reader, source, nova, writer, novaWriter } = made;
  const loaded = await ends(0, run(["apply", ...at, ...writer, ...novaWriter, "--yes"]));
  assert.deepEqual(loaded.err.match(/^(?:Looking|Changing) .*$/gm), [
    "Looking at Ironic, its conductors and Nova before the first write.",
    "Changing flavors of Nova.",
    "Changing hosts in Nova's rows.",
  ]);
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
  const count = (action: string) => withNova.out.match(new RegExp(`^"${action}"`, "gm"))?.length;
  const total = `remove ${count("remove")} rows, restore ${count("restore")} and leave ${count("leave")}`;
  assert.match(withNova.err, new RegExp(`^Rollback would ${total}\\.$`, "m"));
  assert.deepEqual(actions(withNova.out, "leave"), [
    "aggregate_hosts:1/ironic-compute",
    "compute_nodes:3",
    "instances:3",
  ]);
  const third = caseUuid("node", 3);
  assert.match(withNova.out, new RegExp(`"leave","node","${third}",3,"in nova instances:3 was`));
  assert.match(withNova.out, /"instances","3",.*"was changed since in host"/);

  const applied = await rowsOf(nova);
  const back = await ends(2, act(["rollback", "--all"]));
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
  await ends(0, act(["rollback", "--all"]));
  const last = await ends(0, run(["rollback", ...at, ...writer, "--all", "--yes", "-q"]));
  assert.doesNotMatch(last.out, /Rows of nova/);
});

test("a compute node that the ironic driver wrote over on its own host is no stray", async (t) => {
  const { act, nova } = await plannedCloud("sqlite", t);
  await ends(0, act(["apply"]));
  await ends(0, act(["rollback", "--all"]));
  await nova.db("compute_nodes").update({ hypervisor_type: "ironic" });
  await ends(0, act(["rollback", "--all"]));
});
