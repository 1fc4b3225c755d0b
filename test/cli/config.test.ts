import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { applyPatch } from "diff";
import { PLACEHOLDER } from "../../src/model/settings.ts";
import { refused, run, runs } from "../hostile/cli.ts";
import { SITE, tenant } from "../hostile/fleet.ts";
import { scene } from "../support/scene.ts";

const LEGACY =
  "[DEFAULT]\nhost = c-1\ncompute_driver = nova.virt.baremetal.driver.BareMetalDriver\nrabbit_password = hunter2\n[baremetal]\nsql_connection = mysql://nova:hunter3@db/nova_bm\n";

const folder = mkdtempSync(join(tmpdir(), "n2i-config-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
function conf(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
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
  assert.match(err, /^All settings are as needed\.$/m);
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

test("without a file the settings are printed as nova.conf has them, and with --json for programs", async () => {
  const plain = await runs(0, ["config", "--ironic-release", "kilo"]);
  assert.match(plain.out, /^\[ironic\]\n# .*\nadmin_username = CHANGE_ME$/m);
  const json = await runs(0, ["config", "--ironic-release", "kilo", "--json", "--exact-filters"]);
  const { settings } = JSON.parse(json.out) as { settings: { key: string }[] };
  assert.ok(settings.some(({ key }) => key === "scheduler_use_baremetal_filters"));
});

test("what is not told is refused", async () => {
  await refused(["config"], 64, "N2I-E100", [/nothing tells the release/]);
  const juno = ["config", "--ironic-release", "juno"];
  await refused([...juno, "--check"], 64, "N2I-E100", [/--check needs --nova-conf/]);
  await refused([...juno, "--nova-conf", join(folder, "none")], 64, "N2I-E104");
  await refused([...juno, "--nova-conf", "=x"], 64, "N2I-E100");
  await refused([...juno, "--exact-filters", "--nova-db", "env:X"], 64, "N2I-E100");
  assert.equal((await run(["config", "--ironic-release", "rocky", "--exact-filters"])).status, 64);
});

test("exact filters: a flavor of a machine's very size stays, one that is 1 MB off is named", async (t) => {
  const exact = { ...tenant(1), local_gb: 40 };
  const flavor = { vcpus: 8, root_gb: 40, ephemeral_gb: 0, swap: 0, deleted: 0, is_public: true };
  const at = await scene("sqlite", t, {
    shows: "two flavors for machines, one of a size that no machine has",
    nova_bm: { nodes: [exact, { id: 2, local_gb: 40 }] },
    nova: {
      flavors: [
        { ...flavor, id: 1, name: "fits", flavorid: "11", memory_mb: 49_152, rxtx_factor: 1 },
        { ...flavor, id: 2, name: "apart", flavorid: "12", memory_mb: 49_153, rxtx_factor: 1 },
        { ...flavor, id: 3, name: "virtual", flavorid: "13", memory_mb: 512, rxtx_factor: 1 },
      ],
      extra_specs: [
        ...[2].map((id) => ({
          ...{ id, instance_type_id: id, deleted: 0 },
          ...{ key: "baremetal:deploy_kernel_id", value: "old" },
        })),
      ],
    },
    site: SITE,
  });
  assert.ok(at);
  const words = ["config", "--run", at.run, "--exact-filters"];
  const { out, err } = await runs(0, words);
  assert.match(out, /^scheduler_use_baremetal_filters = True$/m);
  assert.match(err, /^Exact filters would strand 0 of 1 flavors, by the machines of the plan\.$/m);
  const nova = at.source[at.source.indexOf("--nova-db") + 1] ?? "";
  const wide = await runs(2, [...words, "--nova-db", nova]);
  assert.match(
    wide.err,
    /would strand 1 of 2 flavors.*\n {2}apart \(12\) wants 8 vcpus, 49153 MB .* nearest of 2 machines has 49152 MB of memory\.$/m,
  );
});

test("a service that was not started since its file changed is named, and what nobody can know", async (t) => {
  const services = [
    { id: 1, host: "c-1", binary: "nova-compute", topic: "compute", deleted: 0 },
    { id: 2, host: "boss", binary: "nova-scheduler", topic: "scheduler", deleted: 0 },
  ];
  const at = await scene("sqlite", t, {
    shows: "a nova-compute and a scheduler",
    nova_bm: { nodes: [{ id: 1 }] },
    nova: {
      services: services.map((one) => ({ ...one, report_count: 1, disabled: false })),
    },
    site: SITE,
  });
  assert.ok(at);
  const nova = at.source[at.source.indexOf("--nova-db") + 1] ?? "";
  const told = await runs(0, ["config", "--ironic-release", "juno", "--part", "scheduler"]);
  const file = conf("boss.conf", told.out.replaceAll(PLACEHOLDER, "hunter4"));
  const words = [
    ...["config", "--ironic-release", "juno", "--part", "scheduler", "--check", "--restarted"],
    ...["--nova-conf", `boss=${file}`],
  ];
  await refused(words, 64, "N2I-E100", [/nothing shows whether a service was restarted/]);
  await refused([...words.filter((word) => word !== "--check"), "--nova-db", nova], 64, "N2I-E100");
  // Its row never reported.
  const silent = await runs(2, [...words, "--nova-db", nova]);
  assert.match(silent.err, /^Restart nova-scheduler of boss\.$/m);
  const log = conf("scheduler.log", started(-3600));
  const logged = [...words, "--service-log", `boss=${log}`];
  const early = await runs(2, [...logged, "-f", "json"]);
  const rows = JSON.parse(early.out) as { Key: string; State: string; Where: string }[];
  assert.deepEqual(
    rows.filter(({ Key }) => Key === "nova-scheduler").map(({ State, Where }) => [State, Where]),
    [["not restarted", `${log}:1`]],
  );
  writeFileSync(log, started(30), { flag: "a" });
  assert.match((await runs(0, logged)).err, /^All services were restarted since/m);
  const empty = await runs(0, [...words, "--service-log", `boss=${conf("none.log", "")}`]);
  assert.match(empty.err, /^Not known to have restarted: nova-scheduler of boss\. Give/m);
  await refused([...words, "--service-log", `c-9=${log}`], 64, "N2I-E100", [/names c-9/]);
});

/** The line of a start so many seconds from now, in this machine's time. */
function started(seconds: number): string {
  const at = new Date(Date.now() + seconds * 1000);
  const local = new Date(+at - at.getTimezoneOffset() * 60_000).toISOString();
  return `${local.slice(0, 19).replace("T", " ")}.1 7 INFO nova.service [-] Starting scheduler node (version 26.2.0)\n`;
}
