import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { pauseShorter } from "../../../src/edge/openstack/passing.ts";
import { firstAlone, together } from "../../../src/edge/openstack/together.ts";

test("who asks while a question is under way is answered by the next, and all that wait share one", async (t) => {
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  const asked: (readonly string[])[] = [];
  const open: (() => void)[] = [];
  const ask = together(async (keys: readonly string[]) => {
    asked.push(keys);
    await new Promise<void>((resolve) => open.push(resolve));
    const answer = asked.length;
    return (key) => `${key}${answer}`;
  });
  const asksAgain = async (): Promise<void> => {
    while (open.length === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  };
  const first = [ask("a"), ask("b")];
  await asksAgain();
  const late = [ask("c"), ask("a")];
  assert.deepEqual(asked, [["a", "b"]]);
  open.shift()?.();
  assert.deepEqual(await Promise.all(first), ["a1", "b1"]);
  await asksAgain();
  const last = ask("d");
  open.shift()?.();
  assert.deepEqual(await Promise.all(late), ["c2", "a2"]);
  await asksAgain();
  open.shift()?.();
  assert.equal(await last, "d3");
  assert.deepEqual(asked, [["a", "b"], ["c", "a"], ["d"]]);
});

test("a question that fails fails all that share it, and no other", async (t) => {
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  const ask = together(async (keys: readonly number[]) => {
    if (keys.includes(1)) throw new Error("cut");
    return (key) => key * 2;
  });
  const shared = await Promise.allSettled([ask(1), ask(2)]);
  assert.deepEqual(
    shared.map(({ status }) => status),
    ["rejected", "rejected"],
  );
  assert.equal(await ask(3), 6);
});

for (const end of ["done", "failed"] as const)
  test(`all others begin at once when the first is ${end}, and none before`, async () => {
    const alone = firstAlone(60_000);
    const begun: string[] = [];
    const ends = new Map<
      string,
      { resolve: (name: string) => void; reject: (why: Error) => void }
    >();
    const work = (name: string) => () => {
      begun.push(name);
      return new Promise<string>((resolve, reject) => ends.set(name, { resolve, reject }));
    };
    const first = alone(work("a"));
    const others = ["b", "c"].map((name) => alone(work(name)));
    await turn();
    assert.deepEqual(begun, ["a"]);
    if (end === "done") ends.get("a")?.resolve("a");
    else ends.get("a")?.reject(new Error("it failed"));
    if (end === "done") assert.equal(await first, "a");
    else await assert.rejects(first, /it failed/);
    await turn();
    assert.deepEqual(begun, ["a", "b", "c"]);
    const late = alone(work("d"));
    await turn();
    for (const name of ["d", "b", "c"]) ends.get(name)?.resolve(name);
    assert.deepEqual(await Promise.all([...others, late]), ["b", "c", "d"]);
  });

test("the others wait no longer for the first than they may, and it goes on", async () => {
  const alone = firstAlone(1);
  let end = (_name: string): void => undefined;
  const first = alone(() => new Promise<string>((resolve) => (end = resolve)));
  assert.equal(await alone(() => Promise.resolve("b")), "b");
  end("a");
  assert.equal(await first, "a");
});
