import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ends, refused, run, runs } from "../../hostile/cli.ts";
import { deployFiles } from "../../hostile/deployment.ts";
import { SITE, tenant } from "../../hostile/fleet.ts";
import { cloud } from "./cloud.ts";
import { trainCloud } from "./later.ts";
import { plannedCloud } from "./planned.ts";

test("plan, apply and their options say no when they do not fit each other", async (t) => {
  const { at, reader, writer, novaWriter, source, plan } = await plannedCloud("sqlite", t);
  const nova = source.slice(2, 4);
  const planning = ["plan", ...at, ...reader, ...plan, "-q"];
  for (const [words, text] of [
    [["--compute-host", "x"], /--compute-host needs --nova-db/],
    [[...nova, "--deploy-kernel", "x"], /--deploy-kernel needs --deploy-ramdisk/],
    [
      [...nova, "--flavor-images", "delete", "--deploy-kernel", "x"],
      /--flavor-images delete and --deploy-kernel are mutually exclusive/,
    ],
    [[...nova, "--compute-host", "nobody:x=y"], /--compute-host takes NAME/],
    [[...nova, "--compute-host", ""], /--compute-host takes NAME/],
  ] as const)
    await refused([...planning, ...words], 64, "N2I-E100", [text]);
  await refused([...planning, "--nova-db", source[1] ?? ""], 4, "N2I-E202", [/nova database/]);
  const applying = ["apply", ...at, ...writer, "--yes", "-q"];
  const without = [...applying, "--without", "nova-db"];
  await refused(without, 4, "N2I-E311", [], { bare: true });
  await refused([...applying, ...novaWriter, "--leave-nova"], 64, "N2I-E100");
  await ends(3, run([...applying, "--leave-nova"]));
  await runs(0, [...planning]);
  await runs(0, ["apply", ...at, ...writer, "--yes", "-q"]);
  await refused([...applying, ...novaWriter], 4, "N2I-E114");
});

test("a word of --compute-host or --flavor that fits nothing is refused, and no plan is left", async (t) => {
  const given = { ...cloud({ machines: 4, others: 2 }), site: SITE };
  const { at, source, reader, plan } = await deployFiles(t, given);
  await runs(0, ["extract", ...at, ...source, "-q"]);
  const words = ["plan", ...at, ...reader, ...source.slice(2, 4), ...plan, "-q"];
  for (const [word, code, told] of [
    ["comptue-1=iron", "N2I-E107", /"comptue-1" matches no machine\. .*"compute-1", "compute-2"/],
    ["group:rack7=iron", "N2I-E107", /"group:rack7" matches no machine/],
    ["shard:s1=iron", "N2I-E107", /"shard:s1" matches no machine/],
  ] as const)
    await refused([...words, "--compute-host", word], 64, code, [told]);
  // One word that fits does not excuse another that does not.
  const both = ["--compute-host", "iron", "--compute-host", "compute-3=iron"];
  await refused([...words, ...both], 64, "N2I-E107", [/"compute-3" matches no machine/]);
  for (const name of ["half metla", "baremetal "])
    await refused([...words, "--flavor", name], 64, "N2I-E107", [
      /matches no flavor\. .*"baremetal"/,
    ]);
  await refused(["apply", ...at, ...reader, "--yes"], 64, "N2I-E110");
  const { err, out } = await runs(0, [...words, "--compute-host", "iron", "--flavor", "11"]);
  assert.doesNotMatch(`${out}${err}`, /N2I-D22[89]/);
});

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

  await refused(["show", `${run}/snapshot.jsonl`, "--nova"], 64, "N2I-E100", [
    /requires a plan folder/,
  ]);
  for (const file of ["snapshot.jsonl", "plan/nova-hosts.jsonl"])
    await refused(["show", `${run}/${file}`, "--diff", "1"], 64, "N2I-E100", [/--diff requires/]);
  await runs(0, ["plan", ...at, ...reader, ...plan, "-q"]);
  await refused(["show", `${run}/plan`, "--nova"], 4, "N2I-E114", [/was made without Nova/]);
});

const JUNO = { ...cloud({ machines: 1, others: 2, node: (id) => tenant(id) }), site: SITE };

for (const { release, given, words, planned, other, none } of [
  {
    ...{ release: "juno", given: JUNO, words: [], planned: "compute-1", other: "ironic-compute" },
    none: 0,
  },
  {
    ...{ release: "train", given: trainCloud(), words: ["--compute-host", "ironic-compute"] },
    ...{ planned: "ironic-compute", other: "some-other", none: 2 },
  },
])
  test(`on ${release}, config holds [DEFAULT] host against the host that instances will name: ${planned}`, async (t) => {
    const { at, source, reader, plan, folder } = await deployFiles(t, given);
    await runs(0, ["extract", ...at, ...source, "-q"]);
    const how = ["--ironic-release", release];
    const beside = words.length > 0 ? source.slice(2, 4) : [];
    await runs(0, ["plan", ...at, ...reader, ...beside, ...plan, ...how, ...words, "-q"]);
    const { out } = await runs(0, ["config", ...how]);
    const look = async (host: string) => {
      const file = join(folder, "compute.conf");
      writeFileSync(file, `[DEFAULT]\n${host}\n${out.replaceAll("CHANGE_ME", "x")}`);
      return run(["config", ...at, "--nova-conf", `${planned}=${file}`, "--check"]);
    };
    const right = await ends(0, look(`host = ${planned}`));
    assert.match(right.err, /^All settings are correct\.$/m);
    const wrong = await ends(2, look(`host = ${other}`));
    assert.match(
      wrong.err,
      new RegExp(
        `^Wrong: \\[DEFAULT\\] host must be ${planned}, .*: ${planned} has ${other}\\.$`,
        "m",
      ),
    );
    assert.doesNotMatch(wrong.err, /All settings are correct/);
    // A new host's own name is another one; that of a kept host is known.
    assert.equal((await look("")).status, none);
  });
