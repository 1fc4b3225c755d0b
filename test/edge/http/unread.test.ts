import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { ServedRoute } from "../../../src/edge/http/serving.ts";
import { heldRoute, line, listening, piecewise, shorter, wire } from "./scene.ts";

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

test("what cannot be read behind a request has no answer that would pass for that one's", async (t) => {
  const { slow, held, free } = heldRoute();
  const pieces = piecewise(async function* () {
    yield "first";
    await held;
  });
  const { url } = await listening(t, { routes: [slow, pieces] });
  const one = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
  for (const bad of [
    "NONSENSE / HTTP/1.1\r\n\r\n",
    "CONNECT here:80 HTTP/1.1\r\nHost: a\r\n\r\n",
  ]) {
    assert.equal(await wire(t, url, one("/slow") + bad).ended, "");
    assert.equal(await wire(t, url, one("/slow").repeat(2) + bad).ended, "");
    const begun = wire(t, url, one("/pieces"));
    await begun.until(/first/);
    begun.socket.write(bad);
    assert.doesNotMatch(await begun.ended, /HTTP\/1\.1 4|0\r\n\r\n$/);
  }
  free();
  // Of the request itself: this is its answer.
  const chunk = "POST /slow HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
  assert.match(await wire(t, url, chunk).ended, /^HTTP\/1\.1 400/);
});
