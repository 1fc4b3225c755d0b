import assert from "node:assert/strict";
import { test } from "node:test";
import { type CaseRow, caseUuid } from "../cases/case.ts";
import { refused, runs } from "../hostile/cli.ts";
import { deploy } from "../hostile/deployment.ts";
import { digests } from "../hostile/digest.ts";
import { tenant } from "../hostile/fleet.ts";
import { cloud, IMAGES } from "../migrate/nova/cloud.ts";
import { changes, differences, rowsOf, sameRows } from "../migrate/nova/rows.ts";

/** 60 in use, 25 free, and 5 each of what must not be forgotten. */
function machine(id: number, place: CaseRow): CaseRow {
  if (id <= 60) return tenant(id, place);
  if (id <= 85) return { id, ...place };
  if (id <= 90) return { id, ...place, deleted: true };
  return tenant(id, { ...place, task_state: id <= 95 ? "error" : "deploying" });
}

/** What is of a type of its own in a real nova, and stood for by text otherwise. */
const SHAPES = {
  mysql: ["ALTER TABLE instances MODIFY locked_by enum('owner','admin')"],
  postgresql: [
    "CREATE TYPE instances0locked_by AS ENUM ('owner', 'admin')",
    "ALTER TABLE instances ALTER locked_by TYPE instances0locked_by USING locked_by::instances0locked_by",
    "ALTER TABLE instances ALTER access_ip_v4 TYPE inet USING access_ip_v4::inet",
    "ALTER TABLE instances ALTER access_ip_v6 TYPE inet USING access_ip_v6::inet",
    "ALTER TABLE compute_nodes ALTER host_ip TYPE inet USING host_ip::inet",
  ],
} as const;

const LOADED = Array.from({ length: 95 }, (_, at) => at + 1).filter((id) => id <= 85 || id > 90);

for (const engine of ["mysql", "postgresql"] as const)
  test(`${engine}: a hundred machines, each database with a user of its own`, async (t) => {
    const made = await deploy(engine, t, cloud({ machines: 100, others: 40, node: machine }));
    const { at, source, reader, writer, novaWriter, plan, nova, ironic } = made;
    const beside = source.slice(2, 4);
    const all = [...at, ...writer, ...novaWriter, "--yes", "-q"];
    const verify = ["verify", ...at, ...reader, ...beside, "-q", "-f", "value"];
    for (const sql of SHAPES[engine]) await nova.db.raw(sql);
    await nova.db("instances").update({ locked_by: "admin", access_ip_v4: "192.0.2.7" });
    const empty = await rowsOf(ironic);
    const before = await rowsOf(nova);

    // D-1
    await t.test("two addresses that are swapped are told before anything is written", async () => {
      const untouched = await digests(made);
      const [bm = "", novas = ""] = [source[1], source[3]];
      const swapped = ["--nova-bm-db", novas, "--nova-db", bm, ...source.slice(4)];
      await refused(["extract", ...at, ...swapped, "-q"], 4, "N2I-E202", [/--nova-bm-db/]);
      await runs(0, ["extract", ...at, ...source, "-q"]);
      const words = ["plan", ...at, ...plan, "-q", "--compute-host", "ironic-compute", ...IMAGES];
      await refused([...words, "--ironic-db", novas, ...beside], 4, "N2I-E202", [/--ironic-db/]);
      await runs(0, [...words, ...reader, ...beside]);
      assert.deepEqual(await digests(made), untouched);
    });

    // D-4
    await t.test("machines that are deploying refuse the run until they are left out", async () => {
      await refused(["apply", ...all], 4, "N2I-E304", [/5 machines are blocked/]);
      sameRows(await rowsOf(nova), before);
      sameRows(await rowsOf(ironic), empty);
      const { out } = await runs(3, ["apply", ...all, "--skip-blocked"]);
      assert.equal(out.match(/^Left out: .*N2I-D100/gm)?.length, 5);
    });

    await t.test(
      "each machine is what its state says, and a soft-deleted one is not there",
      async () => {
        const rows: readonly {
          uuid: string;
          provision_state: string | null;
          maintenance: unknown;
        }[] = await ironic.db("nodes").select("uuid", "provision_state", "maintenance");
        const states = new Map(
          rows.map(({ uuid, provision_state, maintenance }) => [
            uuid,
            `${provision_state} ${Boolean(maintenance)}`,
          ]),
        );
        const wanted = LOADED.map((id) => {
          const state = id <= 60 ? "active false" : id <= 85 ? "null false" : "error true";
          return [caseUuid("node", id), state] as const;
        });
        assert.deepEqual([...states].sort(), [...wanted].sort());
      },
    );

    // D-4, D-5, D-14
    await t.test(
      "of nova's rows only what must change did: no instance but its host, two values a flavor",
      async () => {
        const after = await rowsOf(nova);
        assert.deepEqual(changes(before, after), {
          "instances host": 65,
          "compute_nodes deleted_at deleted": 90,
          "aggregate_hosts new": 1,
          "instance_type_extra_specs value": 4,
        });
        const hosts = [...differences(before, after).keys()]
          .filter((id) => id.startsWith("instances:"))
          .map((id) => after.get(id)?.host);
        assert.deepEqual([...new Set(hosts)], ["ironic-compute"]);
        const again = await runs(3, ["apply", ...all, "--skip-blocked"]);
        assert.match(again.out, /flavors: 0 rows changed, 4 already changed/);
        assert.match(again.out, /hosts: 0 rows changed, 156 already changed/);
        sameRows(await rowsOf(nova), after);
      },
    );

    // D-14, D-15. What verify says of compute nodes: migrate/nova/changed.test.ts, migrate/hosts/computes.test.ts.
    assert.equal((await runs(0, verify)).out, "");

    await t.test(
      "rollback leaves a row somebody changed, restores flavors and hosts after Ironic's rows are gone, and then all",
      async () => {
        await runs(2, ["rollback", ...at, ...writer, "--all", "--yes", "-q"]);
        sameRows(await rowsOf(ironic), empty);
        await nova.db("instances").where({ id: 7 }).update({ host: "somewhere" });
        const left = await runs(2, ["rollback", ...all, "--all"]);
        assert.match(left.out, /instances:7 .*was changed since in host/);
        // Nor is its compute node offered while its instance is nobody knows where.
        assert.deepEqual(
          [...differences(before, await rowsOf(nova))],
          [
            ["compute_nodes:7", ["deleted_at", "deleted"]],
            ["instances:7", ["host"]],
          ],
        );
        await nova.db("instances").where({ id: 7 }).update({ host: "ironic-compute" });
        await runs(0, ["rollback", ...all, "--all"]);
        sameRows(await rowsOf(nova), before);
      },
    );
  });
