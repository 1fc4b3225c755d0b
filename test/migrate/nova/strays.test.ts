import assert from "node:assert/strict";
import { test } from "node:test";
import { ends, runs } from "../../hostile/cli.ts";
import { engines } from "../../lab/engines.ts";
import { plannedCloud } from "./planned.ts";
import { changes, rowsOf } from "./rows.ts";

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, compute nodes that the new nova-compute made are listed by a rollback until they are gone`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { act, nova, before, at, reader, source } = made;
    await ends(0, act(["apply"]));
    const [service] = await nova.db("services").max("id as id");
    const id = Number(service?.id) + 1;
    await nova.db("services").insert({
      ...before.nova.get("services:1"),
      ...{ id, host: "ironic-compute", disabled: false },
    });
    await nova.db("compute_nodes").insert(
      [1, 2, 3, 4].map((node) => ({
        ...before.nova.get(`compute_nodes:${node}`),
        ...{ id: 500 + node, service_id: id, hypervisor_type: "ironic" },
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
      /\| compute_nodes:502 \| made by the nova-compute of ironic-compute since, of a0000000-0000-4000-8000-000000000002 /,
    );
    assert.doesNotMatch(one.out, /503/);
    const all = await ends(2, act(["rollback", "--all"]));
    assert.match(
      all.out,
      /^4 compute nodes were made by a nova-compute since.*UPDATE compute_nodes SET .* \(501, 502, 503, 504\)$/m,
    );
    // Whose they are, that one takes them away: here the statement the rollback gives.
    const [, statement = ""] = /: (UPDATE compute_nodes .*)$/m.exec(all.out) ?? [];
    assert.deepEqual(changes(before.nova, await rowsOf(nova)), {
      "services new": 1,
      "compute_nodes new": 4,
    });
    await nova.db.raw(statement);
    assert.equal((await nova.db("compute_nodes").where({ deleted: 0 })).length, 4);
    const again = await ends(0, act(["rollback", "--all"]));
    assert.doesNotMatch(again.out, /compute nodes were made/);
  });
