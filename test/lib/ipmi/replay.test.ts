import assert from "node:assert/strict";
import { test } from "node:test";
import { replay } from "./replay.ts";
import { exchanges } from "./vectors.ts";

for (const exchange of exchanges()) {
  test(`what two programs said is read and made again byte for byte: ${exchange.shows}`, () => {
    replay(exchange);
  });
}

test("the exchanges at hand have logins, sealed packets and refusals in them", () => {
  const all = exchanges().map(replay);
  assert.equal(sum(all.map(({ logins }) => logins)), 8);
  assert.ok(sum(all.map(({ sealed }) => sealed)) >= 50);
  assert.deepEqual(
    all.flatMap(({ statuses }) => statuses),
    [0x0d, 0x04, 0x01, 0x09],
  );
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((one, other) => one + other, 0);
}
