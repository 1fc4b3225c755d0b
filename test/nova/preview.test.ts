import assert from "node:assert/strict";
import { test } from "node:test";
import { caseUuid } from "../../src/demo/case.ts";
import { ends, run, runs } from "../hostile/cli.ts";
import { engines, testOnce } from "../lab/engines.ts";
import { plannedCloud } from "./planned.ts";
import { differences, rowsOf, sameRows } from "./rows.ts";

testOnce(
  "a rollback's preview says of each row of nova what the same command then does",
  async (t) => {
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
    assert.match(
      without.err,
      /^Rows of nova would stay as they are; --nova-db takes them back too/m,
    );
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
  },
);

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, what Ironic would leave of a machine is previewed with its rows of nova, and a lock as that`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { act, at, reader, source, nova, ironic } = made;
    await ends(0, act(["apply"]));
    const [first, second, third] = [1, 2, 3].map((id) => caseUuid("node", id));
    const node = (uuid = "") => ironic.db("nodes").where({ uuid });
    await node(first).update({ reservation: "conductor-1" });
    const [own] = await node(second).select("instance_info");
    await node(second).update({ instance_info: "{}" });
    await ironic
      .db("ports")
      .where({ node_id: (await node(third).select("id"))[0]?.id })
      .del();
    await node(third).del();
    const loaded = [await rowsOf(ironic), await rowsOf(nova)] as const;
    const words = ["rollback", ...at, ...reader, ...source.slice(2, 4), "--all", "--plan"];
    const { out } = await runs(0, [...words, "-f", "csv"]);
    sameRows(await rowsOf(ironic), loaded[0]);
    const lines = out.split("\n");
    const of = (text: string) => lines.filter((line) => line.includes(text)).join("\n");
    assert.match(
      of(`"node","${first}"`),
      /^"remove",.*,1,"reserved by conductor conductor-1: it is/,
    );
    const changed = `changed since it was loaded: instance_info[^"]*`;
    assert.match(of(`"node","${second}"`), new RegExp(`^"leave",.*,2,"${changed}"$`));
    assert.match(
      of('"instances","2"'),
      new RegExp(`^"leave",.*"in Ironic node:${second} ${changed}"$`),
    );
    assert.match(of('"instances","1"'), /^"restore"/);
    assert.equal(of(`"node","${third}"`), "", "it is gone already");
    // Nobody says where Ironic is: then that is said.
    const blind = await runs(0, ["rollback", ...at, ...source.slice(2, 4), "--all", "--plan"]);
    assert.match(blind.err, /^Ironic is not asked, .* its rows of nova with it\.$/m);

    await node(first).update({ reservation: null });
    const back = await ends(2, act(["rollback", "--all", "-f", "csv", "-c", "Row"]));
    assert.match(back.out, new RegExp(`^"node:${second}"$`, "m"));
    const rows = await rowsOf(nova);
    assert.deepEqual(
      [1, 2, 3].map((id) => rows.get(`instances:${id}`)?.host),
      ["compute-1", "ironic-compute", "compute-1"],
    );
    await node(second).update({ ...own });
    await ends(0, act(["rollback", "--all"]));
    sameRows(await rowsOf(nova), made.before.nova);
  });
