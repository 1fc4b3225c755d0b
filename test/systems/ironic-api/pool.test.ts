import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { gate } from "../../../src/systems/ironic-api/pool.ts";

test("no more work goes on at a time than a gate lets in, in its order, and a failure frees its place", async () => {
  const enter = gate(2);
  const begun: number[] = [];
  let [under, most] = [0, 0];
  const work = async (id: number): Promise<number> => {
    begun.push(id);
    under += 1;
    most = Math.max(most, under);
    await turn();
    under -= 1;
    if (id === 1) throw new Error("it broke");
    return id;
  };
  const ids = [0, 1, 2, 3, 4];
  const ended = await Promise.allSettled(ids.map((id) => enter(() => work(id))));
  assert.deepEqual([begun, most], [ids, 2]);
  const fulfilled = ended.map(({ status }) => status === "fulfilled");
  assert.deepEqual(fulfilled, [true, false, true, true, true]);
  assert.equal(await enter(() => work(5)), 5);
});
