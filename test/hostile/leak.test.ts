import assert from "node:assert/strict";
import { test } from "node:test";
import { withBmcs } from "../lab/bmc/with-farm.ts";
import { engines, testOnce } from "../lab/engines.ts";
import { canary, finder, searchProcess } from "./canaries.ts";
import { pausedAt } from "./cli.ts";
import { asked, deploySecrets, type Secrets, VARIABLE } from "./secrets-case.ts";

const FORMATS = ["table", "json", "yaml", "csv", "value"];

/** Every command and its expected status, in an order that goes through. */
function everything(made: Secrets, formats: readonly string[]): readonly [number, string[]][] {
  const { at, source, reader, writer, plan, run } = made;
  const each = (...words: string[]): [number, string[]][] =>
    formats.map((format) => [0, [...words, "-f", format]]);
  return [
    [0, ["extract", ...at, ...source, "--debug"]],
    [0, ["extract", ...at, ...source, "--json", "-q"]],
    ...each("show", `${run}/snapshot.jsonl`),
    [0, ["plan", ...at, ...reader, ...plan, "--diff", "--all"]],
    [2, ["plan", ...at, ...reader, ...plan, "--json", "--detailed-exitcode"]],
    ...each("show", `${run}/plan`),
    [0, ["show", `${run}/plan`, "--diff", "--all"]],
    [4, ["apply", ...at, ...writer, "--yes", "--debug"]],
    [3, ["apply", ...at, ...writer, "--yes", "--skip-blocked"]],
    [3, ["apply", ...at, ...writer, "--yes", "--skip-blocked", "--json", "-f", "json"]],
    ...each("verify", ...at, ...reader, "--all-rows"),
    ...each("status", ...at),
    ...each("rollback", ...at, ...reader, "--all", "--plan"),
    [0, ["plan", ...at, ...reader, ...plan, "--diff", "--all"]],
    [0, ["rollback", ...at, ...writer, "--all", "--yes", "--debug"]],
  ];
}

/** The loaded rows hold the very secrets, so that not finding them elsewhere says something. */
async function assertLoaded({ ironic, canaries }: Secrets): Promise<void> {
  const rows: { driver_info: string }[] = await ironic.db("nodes").orderBy("id");
  const texts = rows.flatMap(({ driver_info }) => Object.values(JSON.parse(driver_info)));
  for (const name of ["pm_password", "pm_password 2", "virtual_power_host_pass", "iBoot password"])
    assert.ok(texts.includes(canaries.find((one) => one.name === name)?.text), name);
}

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, no command in any format shows or keeps a secret of the deployment`, async (t) => {
    const made = await deploySecrets(engine, t);
    const formats = engine === "sqlite" ? FORMATS : ["json"];
    for (const [status, words] of everything(made, formats)) {
      if (words[0] === "rollback" && words.includes("--yes")) await assertLoaded(made);
      await made.silently(status, words);
    }
    assert.ok(made.canaries.length >= 18);
  });

// On Linux: it reads /proc.
for (const engine of engines("mysql", "postgresql"))
  test(`on ${engine}, a running load has secrets neither in its arguments nor in its environment`, async (t) => {
    const made = await deploySecrets(engine, t);
    const { at, source, reader, writer, plan, env, find } = made;
    await made.silently(0, ["extract", ...at, ...source]);
    await made.silently(0, ["plan", ...at, ...reader, ...plan]);
    const apply = ["apply", ...at, ...writer, "--yes", "--skip-blocked"];
    const paused = await pausedAt("commit.before:1", apply, env);
    assert.deepEqual(searchProcess(find, paused.pid, VARIABLE), []);
    assert.notDeepEqual(searchProcess(find, paused.pid, "NONE"), [], "it would be found there");
    paused.signal("SIGUSR2");
    assert.equal((await paused.ended).status, 3);
  });

testOnce("asking BMCs that do not answer tells and keeps no secret", async (t) => {
  const { addresses } = await withBmcs(t, new Array(5).fill({ closed: true }));
  // The virtual machine is asked by ssh, in leak.ironic.test.ts.
  await asked(t, addresses, { deleted: [3] });
});

testOnce("a canary is found as text, in hex, and in base64 wherever it begins", () => {
  const one = canary("one");
  const find = finder([one]);
  for (const before of ["", "x", "xy", "xyz"]) {
    const bytes = Buffer.from(`${before}${one.text}`);
    for (const form of ["base64", "base64url", "hex"] as const)
      assert.notDeepEqual(find("here", bytes.toString(form)), [], `${form} after ${before}`);
    assert.notDeepEqual(find("here", JSON.stringify(bytes.toString())), []);
    assert.notDeepEqual(find("here", encodeURIComponent(bytes.toString())), []);
  }
  assert.deepEqual(find("here", "nothing"), []);
});
