import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { processContext, surrounded } from "../../src/run/process-context.ts";
import { ends, killedAt, runs } from "../hostile/cli.ts";
import { DENIED } from "../manage/scene.ts";
import { BRIEF, MOVE } from "./cloud.ts";
import { legacyCloud } from "./legacy-cloud.ts";
import { takes } from "./legacy-does.ts";
import { INSTANCE, NAMES_A, NAMES_B, RECORD, said, site, THERE } from "./legacy-site.ts";
import { IMAGES } from "./legacy-trees.ts";

test("with a login, images come from Glance and ports name the new host; a rollback gives the port back as it was", async (t) => {
  const here = await site(t);
  const { host, own, services, rows } = here;
  const planned = await host(...here.plan);
  assert.match(planned.out, /1 of 1 machine to move/, planned.err);
  const moved = await ends(0, host(...MOVE));
  assert.doesNotMatch(moved.out, /openstack port set/);
  for (const name of IMAGES)
    assert.equal(readFileSync(join(own, INSTANCE, name), "utf8"), `${name} of Glance\n`);
  assert.deepEqual(readdirSync(own).toSorted(), [INSTANCE, "pxelinux.cfg"]);
  assert.deepEqual(said(here), NAMES_B);
  assert.equal((await rows()).machines[0], THERE);
  const verify = () => host("verify", "--queue-purged");
  assert.equal((await verify()).status, 0, (await verify()).out);
  here.port["binding:host_id"] = "A";
  const wrong = await ends(2, verify());
  assert.match(wrong.out, /port:c0\S+ .*binding:host_id is A, expected B/);
  here.port["binding:host_id"] = "B";
  await ends(0, host("rollback", "--all", "--yes"));
  assert.deepEqual(said(here), NAMES_A);
  assert.ok(!existsSync(join(own, INSTANCE)));
  assert.equal(services.calls.filter((call) => call.startsWith("PUT")).length, 2);
});

test("what Neutron refuses keeps no machine: it is said, with the command that does it", async (t) => {
  const here = await site(t);
  const { host, services } = here;
  await ends(0, host(...here.plan));
  services.use((call) => (call.startsWith("PUT") ? DENIED : null));
  const moved = await ends(0, host(...MOVE));
  assert.match(moved.err, /Port c0\S+ does not have host B yet: .*not today/);
  assert.match(moved.out, /^openstack port set --host B .*value=10\.0\.0\.9 .*c0/m);
  assert.deepEqual(said(here), NAMES_A);
  assert.equal((await here.rows()).machines[0], THERE);
  services.use(() => null);
  const again = await host(...MOVE);
  assert.match(again.out, /openstack port set/, "it is told until it is so");
  await ends(0, host("rollback", "--all", "--yes"));
});

test("a port that somebody changed since stays, and its machine is listed by the rollback", async (t) => {
  const here = await site(t);
  const { host } = here;
  await ends(0, host(...here.plan));
  await ends(0, host(...MOVE));
  here.port["binding:host_id"] = "C";
  const back = await host("rollback", "--all", "--yes");
  const left = /port c0\S+ of A was not restored: it has changed since/;
  assert.match(back.out + back.err, left);
  assert.equal((await here.rows()).machines[0], "1 A 2 active - | A - 0");
  here.port["binding:host_id"] = "B";
  assert.match((await host("rollback", "--all", "--yes")).out, /1 machine returned, 0 left/);
  assert.equal(here.port["binding:host_id"], "A");
});

test("an agent with a login takes a machine whose host is lost with its disk: Glance has its images, nova_bm the rest", async (t) => {
  const here = await site(t);
  const { bm, nova, own, conf, env } = here;
  await nova("instances").update({ kernel_id: "", ramdisk_id: null });
  const lease = { epoch: 2, heartbeat_ms: 1, ttl_ms: 60_000 };
  await bm("bm_service_leases").insert({ ...lease, host: "A", fenced_by: "B" });
  await bm("bm_boot_records").insert(RECORD);
  const lines: string[] = [];
  const say = (text: string): void => void lines.push(text);
  const taking = { ids: [1], tftpRoot: own, novaConf: conf, say };
  const without = await takes(here, "none", "A", "B", taking);
  assert.match(
    without.skipped.map(({ reason: why }) => why).join(),
    /N2I-D287 .*no specified tree has it/,
  );
  const world = { ...processContext(), env: { ...processContext().env, ...env } };
  const taken = await surrounded(world, () => takes(here, "one", "A", "B", taking));
  assert.deepEqual([taken.moved, taken.skipped], [1, []]);
  assert.doesNotMatch(lines.join("\n"), /openstack port set/);
  for (const name of IMAGES)
    assert.equal(readFileSync(join(own, INSTANCE, name), "utf8"), `${name} of Glance\n`);
  assert.deepEqual(readdirSync(own).toSorted(), [INSTANCE, "pxelinux.cfg"]);
  assert.deepEqual(said(here), NAMES_B);
});

test("a move that is killed once its port names the new host goes on by the same words, and its port is given back", async (t) => {
  const here = await site(t, BRIEF);
  const { host, env, places, folder } = here;
  await ends(0, host(...here.plan));
  const own = ["--run", join(folder, "runs", "h1"), ...places];
  await killedAt("legacy.ported:1", [...MOVE, ...own], env);
  await ends(0, host(...MOVE));
  assert.deepEqual(said(here), NAMES_B);
  await ends(0, host("rollback", "--all", "--yes"));
  assert.equal(said(here)[0], "A");
  assert.equal((await here.rows()).machines[0], "1 A 2 active - | A - 0");
});

test("words of the other kind of machines are refused, and what is missing is named", async (t) => {
  const { host, places, folder } = await legacyCloud(t, { machines: 1 });
  const ironic = ["--ironic-url", "http://127.0.0.1:1"];
  const plan = ["host", "plan", "--from", "A", "--to", "B"];
  const { err } = await ends(64, host(...plan, ...ironic));
  assert.match(err, /for machines of nova-baremetal \(--nova-bm-db\) has no option --ironic-url/);
  const own = ["--run", join(folder, "runs", "h2"), ...places.slice(2)];
  const other = await runs(64, [...plan, ...own, "--tftp-root", folder]);
  assert.match(other.err, /without --nova-bm-db.* has no option --tftp-root/);
});
