import assert from "node:assert/strict";
import { test } from "node:test";
import { ends } from "../../hostile/cli.ts";
import { deployed, startTool, user } from "./deployed.ts";

interface Event {
  readonly type: string;
  readonly total?: number;
  readonly done?: number;
  readonly rate?: number;
  readonly eta?: number | null;
  readonly summary?: string;
}

const events = (text: string): readonly Event[] =>
  text
    .split("\n")
    .filter((line) => line.startsWith("{"))
    // Written by this tool's own events, whose form test/cli holds.
    .map((line) => JSON.parse(line) as Event);

test("a resumed run tells all machines, and foretells the end from its own rate alone", async (t) => {
  const bmcs = Array.from({ length: 60 }, (_, at) => ({
    users: at % 10 === 9 ? [{ name: "admin", password: "another" }] : user(at + 1),
  }));
  const at = await deployed(t, bmcs);
  const words = ["--json", "--progress-interval", "0.5", "--rate", "8"];
  let stopped = false;
  const heard = (text: string): void => {
    const done = events(text).findLast(({ type }) => type === "progress")?.done ?? 0;
    if (done >= 30 && !stopped) first.stop();
    stopped ||= done >= 30;
  };
  const first = startTool(["power", ...at.at, ...words], heard, 5000);
  await ends(130, first);
  const again = events((await at.power(3, ...words)).err);
  const told = again.filter(({ type }) => type === "progress");
  const [begin, last] = [told[0], told.at(-1)];
  assert.ok(begin !== undefined && last !== undefined);
  assert.ok((begin.done ?? 0) > 30, JSON.stringify(begin));
  for (const { total, done = 0, rate = 0, eta, summary = "" } of told) {
    assert.equal(total, 60);
    assert.ok(rate < 20, "what was answered before is not the rate");
    assert.match(summary, /^\d+ ok(, \d+ wrong-password)?$/);
    if (eta !== null && eta !== undefined) assert.ok(eta <= Math.ceil((60 - done) / rate) + 1);
  }
  assert.ok(told.some(({ eta }) => typeof eta === "number"));
  const end = again.find(({ type }) => type === "stage_complete");
  assert.deepEqual([end?.done, end?.summary], [60, "54 ok, 6 wrong-password"]);
  assert.equal(at.readings().length, 60);
});

/** Fails soon, so that it waits for its second query. */
const ODD = { code: 0xc1, times: 1000, command: "00/01" };

test("progress counts what is asked: neither machines left out nor those of another selection", async (t) => {
  const at = await deployed(t, [{ users: user(1) }, { users: user(2), busy: ODD, delayMs: 5 }]);
  const words = ["--json", "--progress-interval", "0.001", "--deadline", "2"];
  const all = events((await at.power(3, ...words)).err);
  assert.equal(all.find(({ type }) => type === "progress")?.total, 2);
  const failed = events((await at.power(3, ...words, "--only", "failed")).err);
  const told = failed.filter(({ type }) => type === "progress");
  assert.ok(told.every(({ total }) => total === 1));
  assert.ok(told.some(({ done, summary }) => done === 0 && summary === "1 failed so far"));
});
