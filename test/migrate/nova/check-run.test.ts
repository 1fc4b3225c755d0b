import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { caseUuid } from "../../../src/demo/case.ts";
import { run, runs } from "../../hostile/cli.ts";
import { deployFiles, load } from "../../hostile/deployment.ts";
import { SITE, tenant } from "../../hostile/fleet.ts";
import { checkRows } from "./check-output.ts";
import { cloud, IMAGES } from "./cloud.ts";
import { laterCloud } from "./later.ts";
import { plannedCloud } from "./planned.ts";

test("flavors of nova_api are looked at there, by the plan that changes them", async (t) => {
  // A Juno Ironic beside a Train Nova: its flavors' images count, and they are in nova_api.
  const given = cloud({ machines: 2, others: 3, version: 402 });
  const made = await laterCloud("sqlite", t, IMAGES, given);
  const blind = await checkRows(made);
  assert.match(blind("Flavors"), /^Warning: .*in nova_api, which was not read.*--nova-api-db/s);
  assert.match(blind("Privileges"), /^Warning: Not looked at .*give --nova-api-db$/s);
  // The plan has the word for another pairing.
  assert.match(blind("Pairing of releases"), /^Warning: nova 402/);
  const rows = await checkRows(made, made.apiWriter);
  // The data migration of Nova has left one in nova; those of nova_api are all changed.
  assert.match(rows("Flavors"), /^Warning: 1 .*: half metal\./);
  assert.match(rows("Privileges"), /^Success: null/);
  assert.match(rows("Images"), /^Success: Each is named/);
  assert.match(rows("Instance mappings"), /^Failure: 2 /);
  await made.api.db("flavor_extra_specs").insert({
    ...{ id: 90, flavor_id: 3, key: "baremetal:deploy_kernel_id", value: "old" },
  });
  assert.match(
    (await checkRows(made, made.apiWriter))("Flavors"),
    /^Warning: 2 .*: half metal, old metal\.\nFix: nova2ironic plan --nova-db DB --nova-api-db DB/,
  );
});

test("machines that are skipped, and findings that are accepted, are listed and fail nothing", async (t) => {
  const made = await deployFiles(t, {
    shows: "a machine whose instance is deleted, one amid its deployment, and a good one",
    nova_bm: { nodes: [tenant(1), tenant(2, { task_state: "deploying" }), tenant(3)] },
    nova: {
      instances: [1, 2, 3].map((id) => ({
        uuid: caseUuid("instance", id),
        ...(id === 1 && { deleted: 1 }),
        ...(id === 2 && { task_state: "spawning" }),
      })),
    },
    site: {
      ...SITE,
      machines: [
        ...SITE.machines,
        { match: { id: 1 }, accept: [{ finding: "N2I-D202", reason: "it is to be kept" }] },
        { match: { id: 2 }, skip: "goes back to the vendor" },
      ],
    },
  });
  await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
  const before = await checkRows(made);
  assert.match(before("Deleted instances"), /^Failure: 1 machines/);
  assert.match(before("Deployments in flight"), /^Failure: 2 /);
  await runs(0, ["plan", ...made.at, ...made.reader, ...made.plan, "-q"]);
  const planned = await checkRows(made);
  assert.match(
    planned("Deleted instances"),
    /^Warning: 1 .*, as you accepted: bm_nodes\.id=1 .*\.\nFix: /,
  );
  assert.match(
    planned("Deployments in flight"),
    /^Success: bm_nodes\.id=2 deploying, instance .*02 spawning \(skipped by the site document\)\.$/,
  );
  await runs(0, ["apply", ...made.at, ...made.writer, "-q", "--yes"]);
  // Nova's reap finds nothing: maintenance alone would not hold it.
  const [kept] = await made.ironic.db("nodes").where({ uuid: caseUuid("node", 1) });
  assert.deepEqual([kept?.instance_uuid, kept?.maintenance], [null, 1]);
  assert.equal(JSON.parse(kept?.extra).nova_bm.instance_uuid, caseUuid("instance", 1));
  assert.match(
    (await checkRows(made))("Instances planned and loaded"),
    /^Warning: 1 .*bm_nodes\.id=1 \S+ \(N2I-D202\)\.\n.*\n3 in nova_bm, 1 in the plan, 1 skipped/,
  );
  await made.ironic
    .db("nodes")
    .where({ id: kept?.id })
    .update({
      instance_uuid: caseUuid("instance", 1),
    });
  assert.match(
    (await checkRows(made))("Instances planned and loaded"),
    /^Failure: .*nova has no more/,
  );
  await made.nova.db("instances").where({ id: 3 }).update({ task_state: "rebuilding" });
  assert.match((await checkRows(made))("Deployments in flight"), /^Failure: 1 .*03 rebuilding\.\n/);
});

test("a claim that nova gives to another machine warns once it is accepted, and the load is told right", async (t) => {
  const accept = [{ finding: "N2I-D103", reason: "it was wiped" }];
  const made = await deployFiles(t, {
    shows: "two machines",
    nova_bm: { nodes: [tenant(1), { id: 2 }] },
    site: { ...SITE, machines: [...SITE.machines, { match: { id: 2 }, accept }] },
  });
  const claim = { instance_uuid: caseUuid("instance", 1), task_state: "active" };
  await made.bm.db("bm_nodes").where({ id: 2 }).update(claim);
  await load(made);
  const rows = await checkRows(made);
  assert.match(rows("Duplicate instances"), /^Warning: 1 .*as you accepted/);
  assert.match(rows("Unmatched instances"), /^Success/);
  assert.match(rows("Instances planned and loaded"), /^Warning: 1 .*id=2 .*N2I-D103.*1 in Ironic/s);
});

test("databases are compared with those of the plan, also of another run's folder", async (t) => {
  const made = await plannedCloud("sqlite", t, ["--compute-host", "compute-1=iron", ...IMAGES]);
  const rows = await checkRows(made);
  assert.match(rows("Databases and schema heads"), /^Success/);
  // Another run's folder, for databases that are not its own.
  const other = await deployFiles(t, cloud({ machines: 1, others: 0 }));
  const foreign = await checkRows({ ...other, at: made.at });
  assert.match(
    foreign("Databases and schema heads"),
    /^Warning: 3 databases .*: --nova-bm-db, address was .*; or is --run another's\?$/s,
  );
});

test("before there is a run, what needs none is looked at, and none is made", async (t) => {
  const made = await deployFiles(t, {
    shows: "a tenant",
    nova_bm: { nodes: [tenant(1, { task_state: "deploying" })] },
  });
  const nowhere = join(made.folder, "not", "yet");
  const rows = await checkRows({ ...made, at: ["--run", nowhere] });
  assert.match(rows("Deployments in flight"), /^Failure: 1 /);
  assert.match(rows("Instances planned and loaded"), /^Warning: .*nova2ironic extract, then plan/s);
  assert.match(rows("Disk space of the run"), /^Success: \d+ MiB free in .*not\/yet/);
  assert.match(rows("Target empty or ours"), /^Success/);
  assert.ok(!existsSync(join(made.folder, "not")));
  // A folder that is no run's is told as such, and nobody is told to close it.
  const wrong = join(made.folder, "wrong");
  mkdirSync(wrong);
  // Whatever the umask is.
  chmodSync(wrong, 0o755);
  writeFileSync(join(wrong, "notes.txt"), "of somebody else");
  const other = await checkRows({ ...made, at: ["--run", wrong] });
  assert.match(
    other("Images"),
    /^Warning: Not held .*\/wrong holds no run\.\nFix: .*is --run mistyped\?\nEach is named/,
  );
  writeFileSync(join(wrong, "snapshot.jsonl"), "of a run");
  const sides = [...made.source.slice(0, 4), ...made.reader];
  const { status, err } = await run(["check", "--run", wrong, ...sides]);
  assert.equal(status, 255);
  assert.match(err, /N2I-E110 .*is open to other users.*chmod 700/s);
});
