import assert from "node:assert/strict";
import { test } from "node:test";
import { USUAL_PACE, WINDOW_PACE } from "../../../src/model/handover.ts";
import { forecast } from "../../../src/window/handover/rules/forecast.ts";

test("a hand-over takes an interval for each pass, whichever limit makes passes small", () => {
  const two = { ...WINDOW_PACE, conductors: 2 };
  for (const [machines, pace, staged, seconds] of [
    ...[[0, USUAL_PACE, true, 0] as const, [1, USUAL_PACE, true, 180] as const],
    ...[[300, USUAL_PACE, true, 6840] as const, [300, WINDOW_PACE, true, 100] as const],
    // 8, 16, 32, and then 40 in each pass.
    ...[[56, WINDOW_PACE, true, 30] as const, [57, WINDOW_PACE, true, 40] as const],
    ...[[300, WINDOW_PACE, false, 80] as const, [300, two, true, 60] as const],
    ...[[300, two, false, 40] as const, [0, two, false, 0] as const],
    ...[[300, { ...USUAL_PACE, interval: 0 }, true, null] as const],
    ...[[300, { ...USUAL_PACE, workers: -1 }, true, null] as const],
  ])
    assert.equal(forecast(machines, pace, staged).seconds, seconds, `${machines} ${staged}`);
  assert.match(forecast(300, two).source, /^80 machines every 10 s, by the p/);
  const { source } = forecast(3, { ...USUAL_PACE, interval: 0 });
  assert.match(source, /sync_local_state_interval is 0/);
});
