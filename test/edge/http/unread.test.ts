import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { ServedRoute } from "../../../src/edge/http/serving.ts";
import { line, listening, shorter, wire } from "./scene.ts";

test("a whole answer that nobody reads does not wait for ever", async (t) => {
  shorter(t, "unread", 200);
  const body = "x".repeat(64 * 1024 * 1024);
  const whole: ServedRoute = {
    path: /^\/whole$/,
    answer: () => Promise.resolve({ status: 200, fields: {}, body }),
  };
  const { url, served } = await listening(t, { routes: [whole] });
  wire(t, url, line("GET", "/whole")).socket.pause();
  while (served.length < 1) await sleep(20);
  assert.equal(served[0]?.broken, "the caller does not read");
});
