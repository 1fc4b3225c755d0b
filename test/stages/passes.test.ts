import assert from "node:assert/strict";
import files from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { test } from "node:test";
import { run } from "../hostile/cli.ts";
import { checkRows } from "../nova/check-output.ts";
import { plannedCloud } from "../nova/planned.ts";

/** How often the plan's machines are opened until it is asked: for a digest, and for each time that they are parsed. */
function opened(t: { readonly after: (end: () => void) => void }): () => number {
  const { open } = files;
  let count = 0;
  const watch = (...given: Parameters<typeof open>): ReturnType<typeof open> => {
    if (String(given[0]).endsWith("/machines.jsonl")) count += 1;
    return open(...given);
  };
  const put = (one: typeof open): void => {
    files.open = one;
    syncBuiltinESMExports();
  };
  put(watch);
  t.after(() => put(open));
  return () => {
    const so = count;
    count = 0;
    return so;
  };
}

test("a plan that is there already is parsed by its load and its verify alone, once by check, and twice by a rollback with Nova", async (t) => {
  const made = await plannedCloud("sqlite", t);
  assert.ok(made);
  const { act, at, writer } = made;
  const count = opened(t);
  assert.equal((await act(["apply"])).status, 0);
  count();
  await run(["apply", ...at, ...writer, "--leave-nova", "--yes"]);
  // One more for the digest.
  assert.equal(count(), 1 + 2);
  await checkRows(made);
  assert.equal(count(), 1 + 1);
  assert.equal((await act(["rollback", "--all"])).status, 0);
  assert.equal(count(), 2 + 2);
});
