import assert from "node:assert/strict";
import { test } from "node:test";
import { caseUuid } from "../../../src/demo/case.ts";
import { ends, refused, runs } from "../../hostile/cli.ts";
import { engines } from "../../lab/engines.ts";
import { plannedCloud } from "./planned.ts";

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
    await nova.db("compute_nodes").insert({
      ...before.nova.get("compute_nodes:3"),
      ...{ id: 503, service_id: id, hypervisor_type: "ironic" },
    });

    await refused(
      [...words, ...writer, ...novaWriter, "--yes", "-c", "Compute node"],
      64,
      "N2I-E100",
      [/Why it is left/],
    );
    const shown = await ends(2, act(["rollback", "--all", "-f", "json"]));
    const rows = JSON.parse(shown.out) as readonly { readonly [column: string]: string }[];
    const told = rows.map(({ Row, ...why }) => [Row, why["Why it is left"]]);
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
