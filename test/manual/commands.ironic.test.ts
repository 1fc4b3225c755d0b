import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Case } from "../cases/case.ts";
import { commands, page, yamlOf } from "../support/manual.ts";
import { CASE, place } from "../support/manual-place.ts";
import { box, JUNO, STEPS } from "../support/runbook.ts";

/** With the deploy images that the commands name for flavors. */
const SITE = yamlOf("decide").replace("1f6c...", "1f6c-new").replace("8a02...", "8a02-new");

const here = (t: TestContext, more: Partial<Case> = {}, site = SITE) =>
  place(t, { ...CASE, ...more }, site);

type Place = NonNullable<Awaited<ReturnType<typeof place>>>;

async function walk(at: Place, name: string, section?: string): Promise<readonly string[]> {
  const told: string[] = [];
  for (const words of commands(page(name, section))) told.push((await at.runs(words)).text);
  assert.ok(told.length > 0, `${name} shows no command`);
  return told;
}

async function asked(at: Place): Promise<void> {
  for (const name of ["connect", "bmcs"]) await walk(at, name);
}

async function planned(t: TestContext): Promise<Place> {
  const at = await here(t);
  await asked(at);
  await walk(at, "decide", "Plan");
  return at;
}

test("the how-to pages carry a deployment over and back, one after the other", async (t) => {
  const at = await planned(t);
  const [rehearsed = ""] = await walk(at, "decide", "Rehearse");
  assert.match(rehearsed, /^The rehearsal succeeded: /m);
  const [applied = ""] = await walk(at, "load", "Load and verify");
  assert.match(applied, /Verify: \d+ validated, 0 mismatched/);
  await walk(at, "load", "Boot files");
  await walk(at, "load", "Finish");
  await walk(at, "going-back");
});

test("the quickstart reads, asks, plans and shows with a file of connections alone", async (t) => {
  const at = await here(t);
  at.connections(yamlOf("quickstart"));
  const told = await walk(at, "quickstart");
  assert.match(told.join("\n"), /^Next: nova2ironic apply/m);
});

test("one command walks up to the check, and the window is recorded", async (t) => {
  const at = await here(t);
  at.connections(yamlOf("quickstart").replace("nova_conf:", "site: /root/site.yaml\nnova_conf:"));
  const [walked, next, open, shown, closed] = await walk(at, "scripts");
  assert.match(walked ?? "", /^Stopped before apply, as --until requests/m);
  assert.match(next ?? "", /nova2ironic apply .*first write/s);
  assert.match(open ?? "", /^The window is open since/m);
  assert.match(shown ?? "", /\| check /);
  assert.match(closed ?? "", /^The window is closed/m);
});

test("the check of the manual finds nothing but a watch that is too short", async (t) => {
  const at = await planned(t);
  const [words = [], ...more] = commands(page("decide", "Check"));
  assert.deepEqual([words[0], words.includes("--watch"), more], ["check", false, []]);
  const { text } = await at.runs([...words, "--watch", "1"], 1);
  assert.deepEqual(troubles(text), ["nova-compute stopped"]);
});

function troubles(text: string): readonly string[] {
  const rows = text.matchAll(/Check: (.*?) +\|\n\| Result: (?:Warning|Failure)/g);
  return [...rows].map(([, title]) => title ?? "");
}

test("the commands for compute hosts change Nova's rows and restore them", async (t) => {
  const at = await here(t);
  await asked(at);
  const [plan, , apply, , status, rollback] = await walk(at, "nova", "Compute hosts");
  assert.match(plan ?? "", /Nova: 6 rows with a compute host to change/);
  assert.match(apply ?? "", /Apply to nova, hosts: 6 rows changed/);
  assert.match(status ?? "", /nova .*6 rows changed/);
  assert.match(rollback ?? "", /of nova, hosts: 6 rows restored/);
});

test("the commands for flavors plan and show", async (t) => {
  const at = await here(t);
  await asked(at);
  await walk(at, "nova", "Flavors");
});

test("the commands for Nova's settings find what an old nova.conf lacks", async (t) => {
  const at = await planned(t);
  const [all = [], patch = [], check = []] = commands(page("nova", "nova.conf"));
  await at.runs(all);
  const pattern = /^\+compute_driver = nova.virt.ironic.IronicDriver$/m;
  assert.match((await at.runs(patch, 2)).text, pattern);
  assert.match((await at.runs(check, 2)).text, /compute_driver +\| missing/);
});

test("the commands for a hand-over release one machine, then all, and take them back", async (t) => {
  const more = { conductors: [CONDUCTOR] };
  const set = `machines:\n  - {match: {}, set: {root_uuid: ${CONDUCTORS_ROOT}}}\n`;
  const site = SITE.replace("machines:\n", set);
  const at = await here(t, { ironic: { release: "kilo", more } }, site);
  await walk(at, "connect");
  await at.runs(["power", "--run", "m1", "--site", "site.yaml", "--ironic-release", "kilo"]);
  const own = ["--run", "m1", "--ironic-db", "conf:/etc/ironic/ironic.conf"];
  const nova = ["--nova-db", "file:/root/nova.url"];
  await at.runs(["plan", ...own, ...nova, "--site", "site.yaml", "--allow-pairing"]);
  await at.runs(["apply", ...own, ...nova, "--staged"]);
  const conductor = setInterval(() => void at.sql(TAKES).catch(() => undefined), 500);
  t.after(() => clearInterval(conductor));
  const [one, all, seen, back] = await walk(at, "load", "Hand over");
  assert.match(one ?? "", /^Handover: 1 machine released now, 1 handed over/m);
  assert.match(all ?? "", /^Handover: 2 machines released now, 3 handed over/m);
  assert.match(seen ?? "", /^Takeover: 3 handed over, 0 waiting/m);
  assert.match(back ?? "", /3 machines staged again, 0 left/);
});

test("the runbook's commands for Juno load, see the takeover, and go back", async (t) => {
  const at = await here(t, { ironic: { release: "juno", more: { conductors: [CONDUCTOR] } } });
  at.connections(yamlOf("runbook").replace(/^(ironic_release): .*$/m, "$1: juno"));
  const [read = [], ask = [], plan = []] = commands(STEPS[11]?.text ?? "");
  for (const words of [read, ask, plan.filter((word) => word !== "--allow-pairing")])
    await at.runs(words);
  for (const { title, text } of JUNO) {
    if (text.includes("verify --takeover")) await at.sql(TAKES);
    const said: string[] = [];
    for (const words of commands(text)) said.push((await at.runs(words)).text);
    const [, expected = ""] = /^`([\w-]+: )/.exec(box(text).Expect ?? "") ?? [];
    if (said.length > 0) assert.ok(expected !== "" && said.join("\n").includes(expected), title);
  }
  const [, back = ""] = /^## The way back$(.*)/ms.exec(page("runbook-juno")) ?? [];
  const last: string[] = [];
  for (const words of commands(back)) last.push((await at.runs(words)).text);
  assert.match(last.join("\n"), /^Rollback: \d+ rows removed, 0 already deleted, 0 left/m);
});

/** A conductor's doing, in little. */
const TAKES =
  "UPDATE nodes SET power_state = 'power on', conductor_affinity = CASE WHEN provision_state = 'active' THEN 1 END WHERE NOT maintenance";
const CONDUCTOR = {
  ...{ hostname: "lab", drivers: '["pxe_ipmitool"]', online: true },
  updated_at: "2099-01-01 00:00:00",
};
const CONDUCTORS_ROOT = "c0000000-0000-4000-8000-000000000001";
