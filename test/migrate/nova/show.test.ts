import assert from "node:assert/strict";
import { test } from "node:test";
import { refused, runs } from "../../hostile/cli.ts";
import { plannedCloud } from "./planned.ts";

test("a plan is shown by its folder, its manifest or each of its files", async (t) => {
  const made = await plannedCloud("sqlite", t);
  const { run, at, reader, plan } = made;
  const shown = async (...words: readonly string[]): Promise<readonly string[]> => {
    const { out } = await runs(0, ["show", ...words, "-f", "csv"]);
    return out.trimEnd().split("\n").slice(1);
  };
  const machines = await shown(`${run}/plan`);
  assert.equal(machines.length, 4);
  assert.deepEqual(await shown(`${run}/plan/plan.json`), machines);
  assert.deepEqual(await shown(`${run}/plan/machines.jsonl`), machines);

  const files = ["hosts", "shared", "flavors", "api", "findings"];
  const rows = await Promise.all(files.map((name) => shown(`${run}/plan/nova-${name}.jsonl`)));
  assert.ok(rows.slice(0, 3).every((some) => some.length > 0));
  assert.deepEqual(await shown(`${run}/plan`, "--nova"), rows.flat());

  await refused(["show", `${run}/snapshot.jsonl`, "--nova"], 64, "N2I-E100", [/a plan's folder/]);
  for (const file of ["snapshot.jsonl", "plan/nova-hosts.jsonl"])
    await refused(["show", `${run}/${file}`, "--diff", "1"], 64, "N2I-E100", [/--diff needs/]);
  await runs(0, ["plan", ...at, ...reader, ...plan, "-q"]);
  await refused(["show", `${run}/plan`, "--nova"], 4, "N2I-E114", [/was made without Nova/]);
});
