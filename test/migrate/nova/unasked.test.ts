import assert from "node:assert/strict";
import { test } from "node:test";
import { refused, runs } from "../../hostile/cli.ts";
import { deployFiles, extractAndPlan, plannedFiles } from "../../hostile/deployment.ts";
import { cloud } from "./cloud.ts";
import { rowsOf, sameRows } from "./rows.ts";

const NOTICE = /^Notice: nova is not asked, .* --nova-db watch them\.$/m;

test("a load that asks no nova is refused until somebody says so, and then tells that it looks at no heartbeat", async (t) => {
  const made = await plannedFiles(t, cloud({ machines: 2, others: 1 }));
  const { at, source, reader, plan, writer, novaWriter, ironic } = made;
  const before = await rowsOf(ironic);
  const bare = ["apply", ...at, ...writer, "--yes"];
  const why = [/nothing tells whether a nova-compute still runs/, /--leave-nova/];
  await refused([...bare, "-q"], 4, "N2I-E311", why, { bare: true });
  sameRows(await rowsOf(ironic), before);
  // What is given with no plan for it is refused too.
  await refused([...bare, "-q", ...novaWriter], 4, "N2I-E114", [/with --nova-db/]);
  sameRows(await rowsOf(ironic), before);
  const without = await runs(0, [...bare, "--leave-nova"]);
  assert.match(without.err, NOTICE);
  await runs(0, ["rollback", ...at, ...writer, "--all", "--yes", "-q"]);
  await runs(0, ["plan", ...at, ...reader, ...source.slice(2, 4), ...plan, "-q"]);
  const within = await runs(0, [...bare, ...novaWriter]);
  assert.doesNotMatch(within.err, /nova is not asked/);
});

test("a deployment whose nova was never read is refused alike", async (t) => {
  const made = await deployFiles(t, cloud({ machines: 2, others: 1 }));
  const { at, source, writer, ironic } = made;
  const before = await rowsOf(ironic);
  await extractAndPlan({ ...made, source: source.toSpliced(2, 2) });
  const bare = ["apply", ...at, ...writer, "--yes"];
  const why = [/Give --nova-db to extract, to plan/];
  await refused([...bare, "-q"], 4, "N2I-E311", why, { bare: true });
  sameRows(await rowsOf(ironic), before);
  assert.match((await runs(0, [...bare, "--leave-nova"])).err, NOTICE);
});
