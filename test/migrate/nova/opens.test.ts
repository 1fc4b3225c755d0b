import assert from "node:assert/strict";
import fs, { realpathSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename } from "node:path";
import { type TestContext, test } from "node:test";
import { ends } from "../../crash/truth.ts";
import { plannedCloud } from "./planned.ts";

/** How often each file below a folder was opened while `work` ran, by its name. */
async function opensOf(t: TestContext, folder: string, work: () => Promise<unknown>) {
  const counts = new Map<string, number>();
  const { open } = fs.promises;
  const real = realpathSync(folder);
  const counted: typeof open = (path, ...more) => {
    if (String(path).startsWith(real))
      counts.set(basename(String(path)), (counts.get(basename(String(path))) ?? 0) + 1);
    return open(path, ...more);
  };
  const restore = (): void => {
    fs.promises.open = open;
    syncBuiltinESMExports();
  };
  t.after(restore);
  fs.promises.open = counted;
  syncBuiltinESMExports();
  await work();
  restore();
  return Object.fromEntries([...counts].toSorted());
}

test("each file of a plan is read once a walk, and once to be compared with its digest", async (t) => {
  const made = await plannedCloud("sqlite", t);
  const folder = `${made.run}/plan`;
  const applied = await opensOf(t, folder, () => ends(0, made.act(["apply"])));
  t.diagnostic(`apply: ${JSON.stringify(applied)}`);
  const back = await opensOf(t, folder, () => ends(0, made.act(["rollback", "--all"])));
  t.diagnostic(`rollback --all: ${JSON.stringify(back)}`);
  await made.isAsBefore();
  // Compared with the digest, looked at as a whole before the first write, walked.
  for (const name of ["nova-hosts", "nova-shared", "nova-flavors"])
    assert.equal(applied[`${name}.jsonl`], 3, name);
  assert.equal(applied["nova-api.jsonl"], undefined, "of no rows");
  // Counted; then the same, and compute nodes that Nova made since are looked for.
  for (const [name, most] of [
    ["nova-hosts", 5] as const,
    ["nova-shared", 4] as const,
    ["nova-flavors", 3] as const,
  ])
    assert.ok((back[`${name}.jsonl`] ?? 0) <= most, name);
  assert.ok((applied["machines.jsonl"] ?? 0) <= 5 && (back["machines.jsonl"] ?? 0) <= 6);
});
