import assert from "node:assert/strict";
import { test } from "node:test";
import { runs } from "../hostile/cli.ts";
import { deployFiles } from "../hostile/deployment.ts";
import { cloud } from "./cloud.ts";

test("an apply that is given no nova says that it looks at no heartbeat, and one that is, nothing of it", async (t) => {
  const made = await deployFiles(t, cloud({ machines: 2, others: 1 }));
  const { at, source, reader, plan, writer, novaWriter } = made;
  await runs(0, ["extract", ...at, ...source, "-q"]);
  await runs(0, ["plan", ...at, ...reader, ...plan, "-q"]);
  const without = await runs(0, ["apply", ...at, ...writer, "--yes"]);
  assert.match(without.err, /^Notice: nova is not asked, .* --nova-db watch them\.$/m);
  await runs(0, ["rollback", ...at, ...writer, "--all", "--yes", "-q"]);
  await runs(0, ["plan", ...at, ...reader, ...source.slice(2, 4), ...plan, "-q"]);
  const within = await runs(0, ["apply", ...at, ...writer, ...novaWriter, "--yes"]);
  assert.doesNotMatch(within.err, /nova is not asked/);
});
