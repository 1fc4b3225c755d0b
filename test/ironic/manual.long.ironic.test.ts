import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { needsIronic } from "../lab/ironic/with-ironic.ts";
import { commands, page, yamlOf } from "../support/manual.ts";
import { CASE, place } from "../support/manual-place.ts";
import { box, STEPS } from "../support/runbook.ts";
import { until } from "./taken-over.ts";

const PAGE = page("runbook");

/** What a run on another release than Juno's wants besides. */
const SITE = `
format: nova2ironic/site@1
machines:
  - match: {}
    set: {deploy_kernel: 1f6c-new, deploy_ramdisk: 8a02-new, resource_class: bm, cpu_arch: x86_64}
    accept: [{finding: N2I-D403, reason: its own disk has a boot loader}]
`;

test("the commands of the runbook, on a real Ironic and real databases, say what each box expects, and go back", async (t) => {
  const ironic = await needsIronic(t);
  const at = await place(t, CASE, SITE, { ironic, release: "2023.1" });
  // What the conductor said of other tests' machines is not of this night.
  const from = readFileSync(ironic.log, "utf8").split("\n").length;
  const log = `$1: ${ironic.log}:${from}`;
  at.connections(yamlOf("runbook").replace(/^(conductor_log): .*$/m, log));
  for (const step of STEPS) {
    if (step.number === 20) await powerKnown(at);
    if (step.number === 20) await at.nova(...OFFERS);
    const said = await walk(at, commands(step.text));
    const [, expected] = /^`([^`]*)`/.exec(box(step.text).Expect ?? "") ?? [];
    if (said !== "" && expected !== undefined)
      assert.ok(pattern(expected).test(said), `step ${step.number}: ${expected}\n${said}`);
  }
  const [, back = ""] = /^## The way back$(.*?)^## /ms.exec(PAGE) ?? [];
  await at.nova(...OFFERS_NO_MORE);
  const said = await walk(at, commands(back));
  assert.match(said, /of nova, hosts: \d+ rows restored/);
  const [rows] = (await at.sql("SELECT uuid FROM nodes")) as [readonly unknown[]];
  assert.deepEqual(rows, []);
});

test("the commands for REST adopt the machines into a real Ironic, and take them back", async (t) => {
  const ironic = await needsIronic(t);
  const at = await place(t, CASE, SITE, { ironic, release: "2023.1" });
  const auth = { endpoint: ironic.url };
  const clouds = { clouds: { admin: { auth_type: "none", auth } } };
  writeFileSync(join(at.folder, "clouds.yaml"), JSON.stringify(clouds));
  await walk(at, commands(page("connect")));
  await at.runs(["power", "--run", "m1", "--site", "site.yaml", "--ironic-release", "2023.1"]);
  const said = await walk(at, commands(page("releases")));
  assert.match(said, /^Apply: 6 rows created, 0 unchanged\.$/m);
  assert.match(said, /^Rollback: 6 rows removed, 0 already deleted, 0 left/m);
});

type Place = NonNullable<Awaited<ReturnType<typeof place>>>;

/** The box says to wait: conductors look at the power every minute, those of tests more often. */
function powerKnown({ sql }: Place): Promise<void> {
  return until("power that no conductor knows", async () => {
    const [rows] = (await sql("SELECT uuid FROM nodes WHERE power_state IS NULL")) as [
      readonly { readonly uuid: string }[],
    ];
    return rows.map(({ uuid }) => uuid);
  });
}

/** Runs commands one after the other; what they said. */
async function walk(at: Place, shown: ReturnType<typeof commands>): Promise<string> {
  const told: string[] = [];
  for (const words of shown) {
    const pairs = ["plan", "check"].includes(words[0] ?? "") && !words.includes("--allow-pairing");
    const pairing = pairs ? ["--allow-pairing"] : [];
    // A watch so short is a warning, as are another release and a conductor that runs by now.
    const short = words.at(-1) === "60" ? [...words.slice(0, -1), "1"] : words;
    told.push((await at.runs([...short, ...pairing], statusOf(words))).text);
  }
  return told.join("\n");
}

function statusOf(words: readonly string[]): number {
  return words[0] === "check" ? 1 : 0;
}

/** What a box expects, with any number for N. */
function pattern(expected: string): RegExp {
  const escaped = expected.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(escaped.replaceAll(/\bN\b/g, "\\d+"), "m");
}

/** What a new nova-compute writes, and its operator takes away on the way back. */
const OFFERS = [
  "INSERT INTO services (host, `binary`, topic, report_count, disabled, deleted) VALUES ('ironic-compute', 'nova-compute', 'compute', 0, 0, 0)",
  "INSERT INTO compute_nodes (service_id, vcpus, memory_mb, local_gb, vcpus_used, memory_mb_used, local_gb_used, hypervisor_type, hypervisor_version, cpu_info, hypervisor_hostname, deleted) " +
    "SELECT (SELECT max(id) FROM services), 0, 0, 0, 0, 0, 0, 'ironic', 1, '', hypervisor_hostname, 0 FROM compute_nodes WHERE deleted <> 0",
];
const OFFERS_NO_MORE = [
  "DELETE FROM compute_nodes WHERE hypervisor_type = 'ironic'",
  "DELETE FROM services WHERE host = 'ironic-compute'",
];
