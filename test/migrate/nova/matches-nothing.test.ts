import assert from "node:assert/strict";
import { test } from "node:test";
import { refused, runs } from "../../hostile/cli.ts";
import { deployFiles } from "../../hostile/deployment.ts";
import { SITE } from "../../hostile/fleet.ts";
import { cloud } from "./cloud.ts";

test("a word of --compute-host or --flavor that fits nothing is refused, and no plan is left", async (t) => {
  const given = { ...cloud({ machines: 4, others: 2 }), site: SITE };
  const { at, source, reader, plan } = await deployFiles(t, given);
  await runs(0, ["extract", ...at, ...source, "-q"]);
  const words = ["plan", ...at, ...reader, ...source.slice(2, 4), ...plan, "-q"];
  for (const [word, code, told] of [
    ["comptue-1=iron", "N2I-E107", /"comptue-1" fits no machine; .*"compute-1", "compute-2"/],
    ["group:rack7=iron", "N2I-E107", /"group:rack7" fits no machine/],
    ["shard:s1=iron", "N2I-E107", /"shard:s1" fits no machine/],
    [" iron", "N2I-E100", /" iron" is not understood/],
    ["compute-1 =iron", "N2I-E100", /is not understood/],
  ] as const)
    await refused([...words, "--compute-host", word], 64, code, [told]);
  // One word that fits does not excuse another that does not.
  const both = ["--compute-host", "iron", "--compute-host", "compute-3=iron"];
  await refused([...words, ...both], 64, "N2I-E107", [/"compute-3" fits no machine/]);
  for (const name of ["half metla", "baremetal "])
    await refused([...words, "--flavor", name], 64, "N2I-E107", [/is no flavor; .*"baremetal"/]);
  await refused(["apply", ...at, ...reader, "--yes"], 64, "N2I-E110");
  const { err, out } = await runs(0, [...words, "--compute-host", "iron", "--flavor", "11"]);
  assert.doesNotMatch(`${out}${err}`, /N2I-D22[89]/);
});
