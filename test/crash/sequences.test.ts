import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { engines } from "../lab/engines.ts";
import { fleet } from "../support/fleet.ts";
import { type Scene, scene } from "../support/scene.ts";
import { ALL, YES } from "./matrix.ts";
import { ends, killedAt } from "./truth.ts";

/** Inserts a node and its port as Ironic does, without ids, and takes them away again. */
async function ironicInserts({
  sql,
}: Scene): Promise<{ readonly id: number; readonly max: number }> {
  return sql(async (db) => {
    const max = await db("nodes").max({ id: "id" }).first();
    const uuid = randomUUID();
    await db("nodes").insert({ uuid, driver: "fake" });
    const made = await db("nodes").where({ uuid }).first("id");
    await db("ports").insert({ uuid, address: "52:54:ff:00:00:99", node_id: made?.id });
    await db("ports").where({ uuid }).delete();
    await db("nodes").where({ uuid }).delete();
    return { id: Number(made?.id), max: Number(max?.id) };
  });
}

for (const engine of engines())
  test(`on ${engine}, Ironic numbers its next node past ours at every moment`, async (t) => {
    const made = await scene(engine, t, fleet(6));
    const numbersOn = async (): Promise<void> => {
      const { id, max } = await ironicInserts(made);
      assert.ok(id > max, `the next node is ${id}, and there is ${max}`);
    };
    await numbersOn();
    await killedAt(made, "commit.before:1", "apply", YES);
    await numbersOn();
    await ends(0, made.does("apply", YES));
    await numbersOn();
    await ends(0, made.does("verify"));
    await ends(0, made.does("rollback", ALL));
    await numbersOn();
    await ends(0, made.does("apply", YES));
    await numbersOn();
  });
