import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { applyPatch, parsePatch, reversePatch } from "diff";
import { PLACEHOLDER } from "../../src/model/settings.ts";
import { refused, run, runs } from "../hostile/cli.ts";

const LEGACY =
  "[DEFAULT]\nhost = c-1\ncompute_driver = nova.virt.baremetal.driver.BareMetalDriver\nrabbit_password = hunter2\n[baremetal]\nsql_connection = mysql://nova:hunter3@db/nova_bm\n";

const folder = mkdtempSync(join(tmpdir(), "n2i-config-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
function conf(name: string, text: string): string {
  writeFileSync(join(folder, name), text, { mode: 0o600 });
  return join(folder, name);
}

test("the patch of an old nova.conf, applied and filled in, is what the check wants", async () => {
  const file = conf("legacy.conf", LEGACY);
  const words = ["config", "--ironic-release", "juno", "--nova-conf", `c-1=${file}`];
  const patched = await runs(2, words);
  assert.doesNotMatch(`${patched.out}${patched.err}`, /hunter/);
  assert.match(patched.err, /^12 settings are to change\.$/m);
  const text = applyPatch(LEGACY, patched.out);
  assert.ok(typeof text === "string");
  conf("legacy.conf", text);
  assert.match((await runs(2, words)).err, /^5 settings are to change\.$/m);
  conf("legacy.conf", text.replaceAll(PLACEHOLDER, "hunter4"));
  const { out, err } = await runs(0, [...words, "--check", "-f", "json"]);
  assert.match(err, /^All settings are correct\.$/m);
  const rows = JSON.parse(out) as { State: string; Found: string; Key: string }[];
  assert.equal(rows.length, 12);
  assert.deepEqual([...new Set(rows.map(({ State }) => State))], ["right"]);
  assert.equal(rows.find(({ Key }) => Key === "admin_password")?.Found, "(set)");
});

test("a later file of a host overrides, and is the one that is patched", async () => {
  const [base, over] = [conf("base.conf", "[DEFAULT]\ncompute_driver = a\n"), "over.conf"];
  const last = conf(over, "[DEFAULT]\ncompute_driver = b\n");
  const confs = ["--nova-conf", `c-1=${base}`, "--nova-conf", `c-1=${last}`];
  const { out } = await runs(2, ["config", "--ironic-release", "zed", ...confs]);
  assert.ok(!out.includes(base) && out.includes(last), out);
  const other = conf("other.conf", "[DEFAULT]\nhost = c-2\n");
  const two = ["--nova-conf", `c-1=${base}`, "--nova-conf", `c-2=${other}`];
  const { err } = await runs(2, ["config", "--ironic-release", "juno", ...two]);
  assert.match(err, /^Wrong: \[DEFAULT\] host must be one .* c-2 has c-2\.$/m);
});

test("the patch of an ironic.conf for the window, taken back, leaves the file as it was", async () => {
  const text =
    "[DEFAULT]\ntransport_url = rabbit://a:hunter2@b/\n[conductor]\nperiodic_max_workers = 9";
  const file = conf("ironic.conf", text);
  const words = ["config", "--ironic-release", "2023.1"];
  const { out, err } = await runs(2, [...words, "--ironic-conf", file]);
  assert.doesNotMatch(`${out}${err}`, /hunter|nova|compute/i);
  assert.match(err, /restart ironic-conductor before the hand-over.*patch -R.*^2 settings are/ms);
  const named = `ironic_conf: ${file}\nironic_release: "2023.1"\n`;
  const yaml = ["config", "--config", conf("n2i.yaml", named)];
  assert.equal((await runs(2, yaml)).out, out);
  assert.match((await runs(0, [...yaml, "--part", "compute"])).out, /nova-/);
  const unknown = ["config", "--config", conf("unknown.yaml", "ironic_release: julep\n")];
  await refused(unknown, 64, "N2I-E108", [/ironic_release: "julep" is not a known release/]);
  const patched = String(applyPatch(text, out));
  const [patch] = parsePatch(out);
  assert.equal(patch && applyPatch(patched, reversePatch(patch)), text);
  conf("ironic.conf", patched);
  assert.match((await runs(0, [...yaml, "--check"])).out, /right +\| at least 40 +\| 40 /);
});

test("without a file the settings are printed as nova.conf has them, and with --json for programs", async () => {
  const plain = await runs(0, ["config", "--ironic-release", "kilo"]);
  assert.match(plain.out, /^\[ironic\]\n# .*\nadmin_username = CHANGE_ME$/m);
  const json = await runs(0, ["config", "--ironic-release", "kilo", "--json", "--exact-filters"]);
  const { settings } = JSON.parse(json.out) as { settings: { key: string }[] };
  assert.equal(Object.keys(settings[0] ?? {}).join(), "part,section,key,value,why");
  assert.ok(settings.some(({ key }) => key === "scheduler_use_baremetal_filters"));
});

test("what is not told is refused", async () => {
  await refused(["config"], 64, "N2I-E100", [/release of Ironic is missing/]);
  const juno = ["config", "--ironic-release", "juno"];
  await refused([...juno, "--check"], 64, "N2I-E100", [/needs --nova-conf or --ironic/]);
  await refused([...juno, "--nova-conf", join(folder, "none")], 64, "N2I-E104");
  await refused([...juno, "--nova-conf", "=x"], 64, "N2I-E100");
  assert.equal((await run(["config", "--ironic-release", "rocky", "--exact-filters"])).status, 64);
});
