import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { LIMITS, type ServedRoute } from "../../../src/edge/http/serving.ts";
import { line, listening, wire } from "./scene.ts";

test("a whole answer that nobody reads does not wait for ever", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const body = "x".repeat(64 * 1024 * 1024);
  const whole: ServedRoute = {
    path: /^\/whole$/,
    answer: () => Promise.resolve({ status: 200, fields: {}, body }),
  };
  const { url, served } = await listening(t, { routes: [whole] });
  wire(t, url, line("GET", "/whole")).socket.pause();
  while (served.length < 1) {
    await turn();
    t.mock.timers.tick(LIMITS.unread);
  }
  assert.equal(served[0]?.broken, "the caller does not read");
});
