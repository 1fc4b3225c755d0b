import assert from "node:assert/strict";
import { test } from "node:test";
import { caseUuid } from "../../cases/case.ts";
import { ends, refused, runs } from "../../hostile/cli.ts";
import { engines } from "../../lab/engines.ts";
import { plannedCloud } from "./planned.ts";
import { changes, rowsOf, sameRows } from "./rows.ts";

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
      /^"remove",.*,1,"reserved by conductor conductor-1: rollback waits for it/,
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
    assert.match(blind.err, /^Ironic is not read, .* and their Nova rows, would stay\.$/m);

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

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, all that a rollback leaves is one document of each form, and nothing an empty one`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { act, at, nova, ironic, before, writer, novaWriter } = made;
    const words = ["rollback", ...at, "--all"];
    const nothing = await runs(0, [...words, ...writer, ...novaWriter, "--yes", "-f", "json"]);
    assert.equal(nothing.out, "[]\n");
    const preview = await runs(0, [...words, ...writer, ...novaWriter, "--plan", "-f", "json"]);
    assert.equal(preview.out, "[]\n");
    await ends(0, act(["apply"]));
    // Somebody's: an instance, a node, a compute node the new nova-compute made.
    const [instance] = await nova.db("instances").where({ id: 1 }).select("host");
    await nova.db("instances").where({ id: 1 }).update({ host: "theirs" });
    const second = caseUuid("node", 2);
    const [node] = await ironic.db("nodes").where({ uuid: second }).select("instance_info");
    await ironic.db("nodes").where({ uuid: second }).update({ instance_info: "{}" });
    const [service] = await nova.db("services").max("id as id");
    const id = Number(service?.id) + 1;
    await nova.db("services").insert({ ...before.nova.get("services:1"), id, host: "new" });
    await nova
      .db("compute_nodes")
      .insert({
        ...before.nova.get("compute_nodes:3"),
        ...{ id: 503, service_id: id, hypervisor_type: "ironic" },
      });

    await refused(
      [...words, ...writer, ...novaWriter, "--yes", "-c", "Compute node"],
      64,
      "N2I-E100",
      [/Reason/],
    );
    const shown = await ends(2, act(["rollback", "--all", "-f", "json"]));
    const rows = JSON.parse(shown.out) as readonly { readonly [column: string]: string }[];
    const told = rows.map(({ Row, ...why }) => [Row, why.Reason]);
    const ids = told.map(([row]) => String(row));
    for (const row of [`machine:${caseUuid("node", 1)}`, `node:${second}`, "compute_nodes:503"])
      assert.equal(ids.filter((one) => one === row).length, 1, shown.out);
    assert.match(String(told.find(([row]) => row === "compute_nodes:503")?.[1]), /compute of new/);
    const csv = await ends(2, act(["rollback", "--all", "-f", "csv", "-c", "Row"]));
    assert.deepEqual(csv.out.trimEnd().split("\n"), ['"Row"', ...ids.map((row) => `"${row}"`)]);

    await nova.db("instances").where({ id: 1 }).update({ host: instance?.host });
    await nova.db("compute_nodes").where({ id: 503 }).del();
    await ironic
      .db("nodes")
      .where({ uuid: second })
      .update({ ...node });
    const last = await ends(0, act(["rollback", "--all", "-f", "json"]));
    assert.equal(last.out, "[]\n");
  });

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, compute nodes that the new nova-compute made are listed by a rollback until they are gone`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { act, nova, before, at, reader, source } = made;
    await ends(0, act(["apply"]));
    const [service] = await nova.db("services").max("id as id");
    const id = Number(service?.id) + 1;
    await nova
      .db("services")
      .insert({
        ...before.nova.get("services:1"),
        ...{ id, host: "ironic-compute", disabled: false },
      });
    // More than a list of a message shows.
    const ids = Array.from({ length: 24 }, (_, index) => 501 + index);
    await nova
      .db("compute_nodes")
      .insert(
        ids.map((added, index) => ({
          ...before.nova.get(`compute_nodes:${Math.min(index + 1, 4)}`),
          ...{ id: added, service_id: id, hypervisor_type: "ironic" },
        })),
      );
    const shown = await runs(0, [
      ...["rollback", ...at, ...reader, ...source.slice(2, 4), "--node", "2", "--plan"],
      ...["-f", "csv"],
    ]);
    assert.deepEqual(
      [...shown.out.matchAll(/^"(leave|restore)","(\w+)","(\w+)"/gm)].map((one) => one.slice(1)),
      [
        ["restore", "instances", "2"],
        ["restore", "compute_nodes", "2"],
        ["leave", "compute_nodes", "502"],
      ],
    );
    const one = await ends(2, act(["rollback", "--node", "2"]));
    assert.match(
      one.out,
      /\| compute_nodes:502 \| created since by the nova-compute of ironic-compute, for a0000000-0000-4000-8000-000000000002 /,
    );
    assert.doesNotMatch(one.out, /503/);
    const all = await ends(2, act(["rollback", "--all"]));
    assert.match(
      all.out,
      /^A nova-compute created 24 new compute nodes since.*UPDATE compute_nodes SET .* IN \(501, .*, 524\)$/m,
    );
    // Whose they are, that one takes them away: here the statement the rollback gives.
    const [, statement = ""] = /: (UPDATE compute_nodes .*)$/m.exec(all.out) ?? [];
    assert.deepEqual(changes(before.nova, await rowsOf(nova)), {
      "services new": 1,
      "compute_nodes new": ids.length,
    });
    await nova.db.raw(statement);
    assert.equal((await nova.db("compute_nodes").where({ deleted: 0 })).length, 4);
    const again = await ends(0, act(["rollback", "--all"]));
    assert.doesNotMatch(again.out, /new compute node/);
  });

const TABLES = [
  ...["instances", "compute_nodes", "services", "aggregate_hosts"],
  ...["instance_types", "instance_type_extra_specs"],
];
const TIMES = { created_at: "2014-01-02 03:04:05", updated_at: "2014-11-12 13:14:15" };

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, no row's times are written there or back, and what nova-compute wrote of itself meanwhile stays`, async (t) => {
    const { act, nova } = await plannedCloud(engine, t);
    for (const table of TABLES) await nova.db(table).update(TIMES);
    const before = await rowsOf(nova);
    await ends(0, act(["apply"]));
    const columns = Object.keys(changes(before, await rowsOf(nova))).join(" ");
    assert.doesNotMatch(columns, /updated_at|created_at/);
    await ends(0, act(["rollback", "--all"]));
    sameRows(await rowsOf(nova), before);

    await ends(0, act(["apply"]));
    // A last heartbeat, and a sync of power states: neither is a change of what is to come back.
    const beat = { report_count: 11, updated_at: "2014-12-24 00:00:00" };
    await nova.db("services").where({ id: 1 }).update(beat);
    await nova.db("instances").where({ id: 2 }).update({ updated_at: beat.updated_at });
    await ends(0, act(["rollback", "--all"]));
    assert.deepEqual(changes(before, await rowsOf(nova)), {
      "services updated_at report_count": 1,
      "instances updated_at": 1,
    });
  });
