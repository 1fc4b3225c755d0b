import assert from "node:assert/strict";
import { test } from "node:test";
import { askUntilAnswered, pauseShorter } from "../../../src/systems/openstack/passing.ts";

/** How often a service is asked that gives no answer for so many seconds each time. */
async function tries(seconds: number, how: { readonly silent?: number } = {}): Promise<number> {
  let [now, asked] = [0, 0];
  const put = async () => {
    asked += 1;
    now += seconds * 1000;
    return { status: 0 };
  };
  await askUntilAnswered(put, { ...how, now: () => now });
  return asked;
}

test("a service that is silent for its whole minute is asked twice; one that refuses at once, seven times", async (t) => {
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  assert.equal(await tries(60), 2);
  assert.equal(await tries(600), 2);
  assert.equal(await tries(4), 7);
  assert.equal(await tries(0), 7);
  assert.equal(await tries(600, { silent: Number.POSITIVE_INFINITY }), 7);
});
