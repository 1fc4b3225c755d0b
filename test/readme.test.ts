import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Case } from "../src/demo/case.ts";
import { packageRoot, program } from "../src/edge/disk/package-root.ts";
import { novaTree } from "./support/boot.ts";
import { place } from "./support/readme-place.ts";
import { checkTable, exitTable } from "./support/readme-tables.ts";

const README = readFileSync(join(packageRoot(), "README.md"), "utf8");

/** Three healthy machines, one of them with the uuid README speaks of. */
const CASE: Case = {
  shows: "what README's commands work on",
  power: true,
  nova_bm: {
    nodes: [
      {
        id: 1,
        uuid: "7f0c1a52-3b6a-4b7a-9f2e-2b1d1f7f0001",
        instance_uuid: "b0000000-0000-4000-8000-000000000001",
        task_state: "active",
      },
      { id: 2, service_host: "compute-2" },
      { id: 3 },
    ],
  },
  tftp: { "compute-1": novaTree(1), "compute-2": { "pxelinux.cfg": null } },
  nova_conf: { "compute-1": { flavor_extra_specs: "cpu_arch:x86_64" }, "compute-2": {} },
};

/** The fenced blocks of one language. */
function blocks(language: string): readonly string[] {
  return [...README.matchAll(/^```(\w*)\n(.*?)^```$/gms)]
    .filter(([, found]) => found === language)
    .map(([, , text]) => text ?? "");
}

/** Every nova2ironic command README shows in blocks of a language, words split, continued lines joined. */
function commands(language: string): readonly (readonly string[])[] {
  return blocks(language)
    .flatMap((text) => text.replaceAll("\\\n", " ").split("\n"))
    .filter((line) => line.startsWith("nova2ironic "))
    .map((line) => line.trim().split(/\s+/).slice(1));
}

test("README's exit codes are those of the code", () => {
  const table = exitTable().trim();
  assert.ok(README.includes(table), `README lacks:\n${table}`);
});

test("README's exit codes of check are those of the code", () => {
  const table = checkTable().trim();
  assert.ok(README.includes(table), `README lacks:\n${table}`);
});

test("README's check finds nothing but a watch that is too short", async (t) => {
  const at = await place(t, CASE, blocks("yaml")[0] ?? "");
  if (at === null) return;
  const before = ["extract", "power", "plan"];
  for (const words of commands("").filter(([verb = ""]) => before.includes(verb)))
    await at.runs(words);
  const [words = [], ...more] = commands("console");
  assert.deepEqual([words[0], words.at(-2), more], ["check", "--watch", []]);
  const { text } = await at.runs([...words.slice(0, -1), "1"], 1);
  assert.deepEqual(troubles(text), ["nova-compute stopped"]);
});

/** Titles of the rows of a check that are no success. */
function troubles(text: string): readonly string[] {
  const rows = text.matchAll(/Check: (.*?) +\|\n\| Result: (?:Warning|Failure)/g);
  return [...rows].map(([, title]) => title ?? "");
}

test("README opens with what the tool is for, two commands, the picture and the exit codes", () => {
  const order = [
    "lose no state",
    "npm run demo",
    "npm test",
    "extract ──>",
    "| status | name | meaning |",
  ];
  const found = order.map((text) => README.indexOf(text));
  assert.ok(!found.includes(-1), String(found));
  assert.deepEqual(
    found,
    found.toSorted((left, right) => left - right),
  );
});

test("README's commands do what it says, in its order", async (t) => {
  const at = await place(t, CASE, blocks("yaml")[0] ?? "");
  if (at === null) return;
  const shown = commands("");
  assert.deepEqual(
    [...new Set(shown.map(([verb]) => verb))],
    ["extract", "power", "plan", "show", "apply", "verify", "status", "boot", "rollback"],
  );
  for (const words of shown) await at.runs(words);
});

test("README's window goes from extract to the last conductor, and back", async (t) => {
  const ironic = { release: "kilo", more: { conductors: [LAB] } } as const;
  const root = `machines:\n  - {match: {}, set: {root_uuid: ${LAB_ROOT}}}\n`;
  const site = newImages(blocks("yaml")[0] ?? "").replace("machines:\n", root);
  const at = await place(t, { ...CASE, ironic }, site);
  if (at === null) return;
  const shown = commands("bash");
  assert.deepEqual(
    shown.map(([verb]) => verb),
    [
      ...["extract", "power", "plan", "check", "apply", "handover", "handover", "verify"],
      ...["config", "verify", "finish", "status", "finish", "handover", "rollback", "rollback"],
    ],
  );
  const conductor = setInterval(() => void at.sql(TAKES).catch(() => undefined), 500);
  t.after(() => clearInterval(conductor));
  for (const words of shown) {
    // A SQLite file has one writer: nobody is to take over by now.
    if (words[0] === "rollback") clearInterval(conductor);
    if (words[0] === "rollback") await at.nova(...OFFERS_NO_MORE);
    // Its turn may still be to come: nobody waits for a machine without a tenant.
    if (words.includes("--final")) await at.sql(TAKES);
    if (words.includes("--final")) await at.nova(...OFFERS);
    const pairing = ["plan", "check"].includes(words[0] ?? "") ? ["--allow-pairing"] : [];
    // A watch so short is a warning, as are another release and a conductor that runs by now.
    const short = words.at(-1) === "60" ? [...words.slice(0, -1), "1"] : words;
    const { text } = await at.runs([...short, ...pairing], words[0] === "check" ? 1 : 0);
    if (words[0] === "check")
      assert.deepEqual(troubles(text), [
        ...["Pairing of releases", "nova-compute stopped", "Conductors stopped or staged"],
      ]);
    if (words[0] === "apply") assert.match(text, /Apply to nova, hosts: 6 rows changed/);
    if (words[0] === "handover" && words.includes("--undo"))
      assert.match(text, /3 machines staged again, 0 left/);
    if (words[0] === "status") assert.match(text, /Next: nothing; this run is done/);
    if (words.at(-1) === "--all") assert.match(text, /of nova, hosts: 6 rows restored/);
  }
});

test("README's commands for Nova's own rows do what it says", async (t) => {
  const site = newImages(blocks("yaml")[0] ?? "");
  const at = await place(t, CASE, site);
  if (at === null) return;
  for (const words of commands("").filter(([verb]) => verb === "extract")) await at.runs(words);
  await at.runs(["power", "--run", "m1"]);
  const shown = commands("shell");
  assert.deepEqual(
    shown.map(([verb]) => verb),
    ["plan", "show", "apply", "verify", "status", "rollback"],
  );
  for (const words of shown) {
    const { text } = await at.runs(words);
    if (words[0] === "plan") assert.match(text, /Nova: 6 rows that name a compute host to change/);
    if (words[0] === "check")
      assert.deepEqual(troubles(text), [
        ...["Pairing of releases", "nova-compute stopped", "Conductors stopped or staged"],
      ]);
    if (words[0] === "apply") assert.match(text, /Apply to nova, hosts: 6 rows changed/);
    if (words[0] === "status") assert.match(text, /nova .*6 rows changed/);
    if (words[0] === "rollback") assert.match(text, /of nova, hosts: 6 rows restored/);
  }
});

test("README's commands for Nova's settings find what an old nova.conf lacks", async (t) => {
  const at = await place(t, CASE, blocks("yaml")[0] ?? "");
  if (at === null) return;
  for (const words of commands("").filter(([verb]) => verb === "extract")) await at.runs(words);
  const [all = [], patch = [], check = []] = commands("zsh");
  await at.runs(all);
  assert.match((await at.runs(patch, 2)).text, /^\+compute_driver = .*strand 1 of 1 flavors/ms);
  assert.match((await at.runs(check, 2)).text, /compute_driver +\| missing/);
});

/** A conductor's doing, in little. */
const TAKES =
  "UPDATE nodes SET power_state = 'power on', conductor_affinity = CASE WHEN provision_state = 'active' THEN 1 END WHERE NOT maintenance";
/** What a new nova-compute writes, and its operator takes away on the way back. */
const OFFERS = [
  "INSERT INTO services (host, binary, topic, report_count, disabled, deleted) VALUES ('ironic-compute', 'nova-compute', 'compute', 0, 0, 0)",
  "INSERT INTO compute_nodes (service_id, vcpus, memory_mb, local_gb, vcpus_used, memory_mb_used, local_gb_used, hypervisor_type, hypervisor_version, cpu_info, hypervisor_hostname, deleted) " +
    "SELECT (SELECT max(id) FROM services), 0, 0, 0, 0, 0, 0, 'ironic', 1, '', hypervisor_hostname, 0 FROM compute_nodes WHERE deleted <> 0",
];
const OFFERS_NO_MORE = [
  "DELETE FROM compute_nodes WHERE hypervisor_type = 'ironic'",
  "DELETE FROM services WHERE host = 'ironic-compute'",
];
const LAB = {
  ...{ hostname: "lab", drivers: '["pxe_ipmitool"]', online: true },
  updated_at: "2099-01-01 00:00:00",
};
const LAB_ROOT = "c0000000-0000-4000-8000-000000000001";

test("README's demo proves everything it prints", () => {
  const { status, stdout } = spawnSync(process.execPath, [program(), "demo"], { encoding: "utf8" });
  assert.equal(status, 0, stdout);
  assert.match(stdout, /^ {2}yes {2}after rollback Ironic is what it was, by digest$/m);
  assert.doesNotMatch(stdout, /^ {2}NO /m);
});

/** The site document with the deploy images that the commands name for flavors. */
function newImages(site: string): string {
  return site.replace("1f6c...", "1f6c-new").replace("8a02...", "8a02-new");
}
