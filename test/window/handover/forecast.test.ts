import assert from "node:assert/strict";
import { test } from "node:test";
import { USUAL_PACE, WINDOW_PACE } from "../../../src/model/handover.ts";
import { forecast } from "../../../src/window/handover/rules/forecast.ts";

test("a hand-over takes an interval for each pass, whichever limit makes passes small", () => {
  const two = { ...WINDOW_PACE, conductors: 2 };
  for (const [machines, pace, inFlight, seconds] of [
    ...[[0, USUAL_PACE, 8, 0] as const, [1, USUAL_PACE, 8, 180] as const],
    ...[[300, USUAL_PACE, undefined, 6840] as const, [300, WINDOW_PACE, undefined, 100] as const],
    // 8, 16, 32, and then 40 in each pass.
    ...[[56, WINDOW_PACE, undefined, 30] as const, [57, WINDOW_PACE, undefined, 40] as const],
    ...[[300, WINDOW_PACE, 40, 80] as const, [300, two, undefined, 60] as const],
    ...[[300, two, 80, 40] as const, [300, two, 8, 380] as const],
    ...[[300, { ...USUAL_PACE, interval: 0 }, 8, null] as const],
    ...[[300, { ...USUAL_PACE, workers: -1 }, 8, null] as const],
  ])
    assert.equal(forecast(machines, pace, inFlight).seconds, seconds, `${machines} ${inFlight}`);
  assert.match(forecast(300, two, 8).source, /^8 machines every 10 s with --in-flight 8, by the p/);
  assert.match(
    forecast(3, { ...USUAL_PACE, interval: 0 }).source,
    /sync_local_state_interval is 0/,
  );
});
