import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { caseUuid } from "../cases/case.ts";
import { siteOf } from "../cases/write-case.ts";
import { type Ran, refused, runs } from "../hostile/cli.ts";
import { deploy, deployFiles, load } from "../hostile/deployment.ts";
import { SITE, tenant } from "../hostile/fleet.ts";
import { engines, test } from "../lab/engines.ts";

const ROOT = { match: {}, set: { root_uuid: "c0000000-0000-4000-8000-000000000001" } };
/** Its heart beats for as long as a test takes. */
const CONDUCTOR = { hostname: "cond-1", updated_at: "2099-01-01 00:00:00" };
const GIVEN = {
  shows: "two tenants and a free machine",
  nova_bm: { nodes: [tenant(1), tenant(2), { id: 3 }] },
  ironic: {
    release: "kilo",
    more: { conductors: [{ ...CONDUCTOR, drivers: '["pxe_ipmitool"]', online: true }] },
  },
  allow_pairing: true,
  site: { ...SITE, machines: [...SITE.machines, ROOT] },
} as const;

const AT = "2014-12-01 10:00:0";
const MANAGER = "ironic.conductor.manager";
const LOG = [
  `${AT}0.1 77 INFO ${MANAGER} [-] Successfuly started conductor with hostname cond-1.`,
  `${AT}1.1 77 DEBUG ${MANAGER} [-] Conductor cond-1 taking over node ${caseUuid("node", 1)}`,
  `${AT}2.1 77 ERROR ${MANAGER} [req-1 None] Error in deploying node`,
  `${AT}2.1 77 TRACE ${MANAGER} Traceback (most recent call last):`,
  `${AT}2.1 77 TRACE ${MANAGER}   File "pxe.py", line 3, in f`,
  `${AT}2.1 77 TRACE ${MANAGER} MissingParameterValue: root_gb, password=hunter2`,
  `${AT}3.1 77 INFO ${MANAGER} [-] all is well`,
];

// D-11
for (const engine of engines("mysql", "postgresql"))
  test(`on ${engine}, verify --takeover names the machine and the field it lacks, and the line of a log that complains`, async (t) => {
    const made = await deploy(engine, t, GIVEN);
    const { at, reader, ironic, folder } = made;
    await load(made);
    const log = join(folder, "conductor.log");
    const verify = (status: number, ...more: readonly string[]): Promise<Ran> =>
      runs(status, ["verify", ...at, ...reader, "--takeover", "-f", "value", ...more]);
    const nodes = (id: number) => ironic.db("nodes").where({ uuid: caseUuid("node", id) });
    await ironic.db("nodes").whereNotNull("instance_uuid").update({ conductor_affinity: 1 });
    writeFileSync(log, `${LOG.slice(0, 2).join("\n")}\n`);
    const healthy = await verify(0, "--conductor-log", log);
    assert.equal(healthy.out, "");
    assert.match(healthy.err, /^Takeover: 3 handed over, .*\nLogs: 0 faults in 1 log\.$/m);

    const conductors = () => ironic.db("conductors");
    const states = ["-c", "UUID", "-c", "State", "-c", "Why"];
    const waiting = (why: string): string =>
      [1, 2].map((id) => `${caseUuid("node", id)} waiting ${why}\n`).join("");
    const dead = "conductor cond-1, which took it over, is not alive";
    for (const change of [{ updated_at: "2014-12-01 10:00:00" }, { online: false }]) {
      await conductors().update(change);
      const free = `${caseUuid("node", 3)} waiting no conductor is alive: cond-1\n`;
      const all = `${waiting(dead)}${free}`;
      assert.equal((await verify(2, ...states)).out, all, JSON.stringify(change));
      await conductors().update({ updated_at: CONDUCTOR.updated_at, online: true });
    }

    const rows: readonly { instance_info: string }[] = await nodes(1);
    const { image_source: _, ...rest } = JSON.parse(rows[0]?.instance_info ?? "{}");
    await nodes(1).update({ instance_info: JSON.stringify(rest) });
    await nodes(2).update({ driver_internal_info: "{}" });
    const { out } = await verify(2, "-c", "UUID", "-c", "State", "-c", "Why");
    assert.deepEqual(out.trim().split("\n"), [
      `${caseUuid("node", 1)} failed lacks instance_info.image_source`,
      `${caseUuid("node", 2)} failed lacks driver_internal_info.root_uuid_or_disk_id`,
    ]);
    await nodes(1).update({ instance_info: rows[0]?.instance_info ?? "" });
    await nodes(2).update({
      driver_internal_info: JSON.stringify({ root_uuid_or_disk_id: ROOT.set.root_uuid }),
    });

    writeFileSync(log, `${LOG.join("\n")}\n`);
    const told = await verify(2, "--conductor-log", log);
    assert.match(told.err, /^Logs: 1 fault in 1 log/m);
    assert.equal(
      told.out,
      `${log}:3 ${LOG[2]} ... ${LOG[5]?.replace("hunter2", "***")}\n`,
      "one trace is one fault, and no secret is told",
    );
    await verify(0, "--conductor-log", `${log}:7`);
    await refused(
      ["verify", ...at, ...reader, "--takeover", "--conductor-log", `${log}.1`, "-q"],
      64,
      "N2I-E105",
      [/cannot read .*ENOENT/],
    );
  });

test("on Juno, which has no field for it, the plan must know a tenant's root filesystem", async (t) => {
  const made = await deployFiles(t, { ...GIVEN, ironic: { more: GIVEN.ironic.more }, site: SITE });
  const { at, reader, plan, ironic, folder } = made;
  const planned = () => runs(0, ["plan", ...at, ...reader, ...plan, "-q"]);
  const verify = (status: number) =>
    runs(status, ["verify", ...at, ...reader, "--takeover", "-f", "value", "-c", "Why"]);
  await load(made);
  await ironic.db("nodes").whereNotNull("instance_uuid").update({ conductor_affinity: 1 });
  const gone = "the conductor that took it over is no longer in Ironic\n";
  const why = "lacks root_uuid (juno keeps none)\n";
  assert.equal((await verify(2)).out, `${why}${why}`);
  writeFileSync(join(folder, "site.json"), JSON.stringify(siteOf(GIVEN)));
  await planned();
  assert.equal((await verify(0)).out, "");
  // As in a database whose foreign keys were dropped, or were never there.
  await ironic.db.raw("PRAGMA foreign_keys = OFF");
  await ironic.db("nodes").whereNotNull("instance_uuid").update({ conductor_affinity: 77 });
  assert.equal((await verify(2)).out, `${gone}${gone}`);
});
