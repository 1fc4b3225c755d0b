import assert from "node:assert/strict";
import { test } from "node:test";
import { caseUuid } from "../../src/demo/case.ts";
import { ends, refused, run, runs } from "../hostile/cli.ts";
import { plannedCloud } from "./planned.ts";
import { differences, sameRows } from "./rows.ts";

test("nova's rows come back when Ironic's are gone, though no Ironic answers any more, and not before", async (t) => {
  const made = await plannedCloud("sqlite", t);
  const { act, writer, novaWriter } = made;
  const back = ["rollback", "--run", made.run, "--all", "--yes"];
  const nowhere = ["--ironic-db", `sqlite:///${made.folder}/gone.sqlite`, ...novaWriter];
  await ends(0, act(["apply"]));
  const { nova } = await made.now();
  await refused([...back, ...nowhere, "-q"], 1, "N2I-E200");
  sameRows((await made.now()).nova, nova);

  const half = await ends(2, run([...back, ...writer]));
  assert.match(half.out, /^Rows of nova that this run changed are as they are; --nova-db /m);
  sameRows((await made.now()).nova, nova);
  const still = await runs(0, ["status", ...made.at]);
  const { size } = differences(made.before.nova, nova);
  // The run knows both databases.
  const next = `rollback --run \\S+ --all {2}# ${size} rows of nova`;
  assert.match(still.err, new RegExp(`^Next: nova2ironic ${next} are changed still$`, "m"));
  assert.match(still.out, new RegExp(`taken from Ironic, ${size} rows are changed still`));

  const rest = await ends(0, run([...back, ...nowhere]));
  assert.match(rest.err, /^Nothing of this run is left in Ironic, which is not asked: /m);
  await made.isAsBefore();
  const last = await runs(0, ["status", ...made.at]);
  assert.match(last.err, /^Next: nova2ironic plan .*rolled back/m);
  assert.match(last.out, /of what was taken from Ironic, 0 rows are changed still/);
});

test("a machine taken back alone says that nova's rows of this run stay", async (t) => {
  const made = await plannedCloud("sqlite", t);
  await ends(0, made.act(["apply"]));
  const one = await ends(
    2,
    run(["rollback", "--run", made.run, "--node", "1", "--yes", ...made.writer]),
  );
  assert.match(one.out, /^Rows of nova that this run changed are as they are/m);
  const { err } = await runs(0, ["status", ...made.at]);
  const node = caseUuid("node", 1);
  assert.match(
    err,
    new RegExp(`rollback --run \\S+ --node ${node} {2}# 2 rows of nova are changed`),
  );
});
