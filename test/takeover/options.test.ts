import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { HOST } from "../../src/cli/options/host/actions.ts";
import { ends, refused, runs } from "../hostile/cli.ts";
import { ago, DOWN, type HostCloud, hostCloud, MOVE, PLAN, serviceOf } from "./cloud.ts";

async function moved(t: TestContext): Promise<HostCloud> {
  const cloud = await hostCloud(t);
  await ends(0, cloud.host(...PLAN));
  await ends(0, cloud.host(...MOVE));
  return cloud;
}

test("what a file of connections has for a load to Ironic keeps nobody from his dead host", async (t) => {
  const { folder, nova, host, owners } = await hostCloud(t);
  const config = join(folder, "nova2ironic.yaml");
  const list = {
    ...{ run: "m1", nova_db: nova[1] },
    nova_conf: { "compute-1": "c1.conf", "compute-2": "c2.conf" },
    tftp_root: { "compute-1": "c1", "compute-2": "c2" },
  };
  writeFileSync(config, JSON.stringify(list), { mode: 0o600 });
  await runs(0, ["host", "list", "--config", config]);
  // What names nova_bm for the load says nothing of which machines go.
  const all = JSON.stringify({ ...list, nova_bm_db: "sqlite:////nowhere" });
  writeFileSync(config, all, { mode: 0o600 });
  const taken = await host(...DOWN, "--yes", "--config", config);
  assert.doesNotMatch(taken.err, /N2I-E/);
  assert.doesNotMatch((await owners()).join(), / H1 /);
});

test("nothing can be forced but other aggregates", () => {
  const names = Object.values(HOST).flatMap(({ options }) => Object.keys(options));
  const forced = new Set(names.filter((name) => name.startsWith("force")));
  assert.deepEqual([...forced], ["force-aggregates"]);
});

test("a fence command of an unset variable is refused, not left out", async () => {
  const at = [
    "--nova-bm-db",
    "sqlite:////nowhere",
    "--nova-db",
    "sqlite:////nowhere",
    "--host",
    "B",
  ];
  for (const name of ["--fence-command", "--on-fenced"]) {
    const words = ["host", "agent", ...at, "--take", "--run", "r", name, ""];
    await refused(words, 64, "N2I-E100", [new RegExp(`${name}.*the name of a program`)]);
  }
});

test("a run between hosts takes no word of a load to Ironic", async (t) => {
  const { host } = await moved(t);
  for (const [command, ...words] of [
    ["verify", "--final"],
    ["verify", "--placement-db", "sqlite:////nowhere"],
    ["rollback", "--all", "--in-flight", "3"],
    ["rollback", "--all", "--watch", "3"],
    ["rollback", "--all", "--allow-running-compute"],
  ]) {
    const yes = command === "rollback" ? ["--yes"] : [];
    const ran = await ends(64, host(command ?? "", ...words, ...yes));
    const [last = ""] = words.filter((word) => word.startsWith("--") && word !== "--all");
    const refusal = `N2I-E100 ${command} of a run between hosts has no option ${last}\\b`;
    assert.match(ran.err, new RegExp(refusal));
  }
  await ends(0, host("rollback", "--all", "--yes", "--debug"));
});

test("a list goes by the site's service_down_time, and by the clock of a host that is ahead", async (t) => {
  const cloud = await hostCloud(t);
  const { db, nova, folder } = cloud;
  const list = ["host", "list", ...nova, "-f", "csv", "-c", "Owner", "-c", "Up"];
  const seen = async (...words: readonly string[]): Promise<readonly string[]> =>
    (await runs(0, [...list, ...words])).out.trim().split("\n").slice(-2);
  await serviceOf(db, "H2").update({ last_seen_up: ago(90) });
  assert.deepEqual(await seen(), ['"H2","down"', '"H3","up"']);
  assert.deepEqual(await seen("--service-down-time", "300"), ['"H2","up"', '"H3","up"']);
  const conf = join(folder, "nova.conf");
  writeFileSync(conf, "[DEFAULT]\nservice_down_time = 300\n");
  assert.deepEqual(await seen("--nova-conf", conf), ['"H2","up"', '"H3","up"']);
  writeFileSync(conf, "[DEFAULT]\nservice_down_time = 0\n");
  const words = ["host", "list", ...nova, "--nova-conf", conf];
  await refused(words, 64, "N2I-E104", [/service_down_time is not a number above 0/]);
  await serviceOf(db, "H3").update({ last_seen_up: ago(-3600) });
  assert.deepEqual(await seen(), ['"H2","down"', '"H3","down"']);
  const planned = await cloud.host("host", "plan", "--from", "H1", "--to", "H3", "-f", "json");
  assert.match(planned.out, /N2I-D255/);
  assert.match(planned.out, /its last report is 3[56]\d\d s ahead of the database's clock/);
});

test("a rollback names the queue of a host that died while it served", async (t) => {
  const cloud = await moved(t);
  await serviceOf(cloud.db, "H2").update({ last_seen_up: ago(600) });
  const back = await ends(0, cloud.host("rollback", "--all", "--yes"));
  const queue = /Before you start the nova-compute of H2, .*rabbitmqctl purge_queue compute\.H2/;
  assert.match(back.out + back.err, queue);
  assert.doesNotMatch(back.out + back.err, /purge_queue compute\.H3/);
});
