import assert from "node:assert/strict";
import { test } from "node:test";
import { purgeQueue } from "../../src/stages/host-queue.ts";

interface Depth {
  readonly messages: number;
  readonly consumers: number;
}

/** Purges a queue that is seen like this, look after look: what came of it, and what the journal says. */
async function purged(...looks: readonly Depth[]) {
  const left = [...looks];
  const journal: string[] = [];
  const said: string[] = [];
  let waited = 0;
  const broker = {
    ...{ shown: "the broker", close: () => Promise.resolve() },
    depth: () => Promise.resolve((left.length > 1 ? left.shift() : left[0]) ?? null),
    purge: () => Promise.resolve(),
  };
  const session = {
    journal: {
      entries: () => [],
      append: (entry: { readonly do: string }) => Promise.resolve(void journal.push(entry.do)),
    },
    ...{ now: () => "2026-01-01T00:00:00Z", by: "root@h pid 1" },
    clock: {
      now: () => waited,
      async sleep(ms: number) {
        waited += ms;
      },
    },
  };
  const end = await purgeQueue(broker, "H1", session, {
    result: (text) => void said.push(text),
  }).then(
    () => said.join(),
    (error: Error) => error.message,
  );
  return { end, journal, waited };
}

const WAITS = { messages: 3, consumers: 0 };

const EMPTY = { messages: 0, consumers: 0 };
/** Looks in which a count becomes as young as the purge. */
const SETTLED = 15;

test("a queue that keeps its messages was not emptied, and the journal does not say so", async () => {
  const { end, journal, waited } = await purged(WAITS);
  assert.match(end, /compute\.H1 was purged and has 3 messages all the same/);
  // Once a count is no older than that, it is emptied once more.
  assert.deepEqual(journal, ["start", "start", "start", "start", "start"]);
  assert.equal(waited, 30_000);
});

test("a nova-compute that came between the look and the purge is met", async () => {
  const { end, journal } = await purged(WAITS, WAITS, { messages: 0, consumers: 1 });
  assert.match(end, /1 consumers read compute\.H1: a nova-compute of H1 runs/);
  assert.deepEqual(journal, ["start"]);
});

test("a queue is emptied once its count says so for longer than it is old", async () => {
  const { end, journal, waited } = await purged(WAITS, WAITS, WAITS, WAITS, EMPTY);
  assert.match(end, /compute\.H1 was emptied: 3 messages were there/);
  assert.deepEqual(journal, ["start", "end"]);
  assert.ok(waited >= 7_500, String(waited));
});

test("what comes into it after it was emptied is taken away too", async () => {
  const late = { messages: 1, consumers: 0 };
  // An old count, a while of none, and then of one that came later, which a second purge takes.
  const looks = Array.from({ length: SETTLED }, (_, at) => (at < 2 ? WAITS : EMPTY));
  const { end, journal } = await purged(...looks, late, late, EMPTY);
  assert.match(end, /compute\.H1 was emptied: 4 messages were there/);
  assert.deepEqual(journal, ["start", "start", "end"]);
});
