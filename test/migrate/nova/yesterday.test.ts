import assert from "node:assert/strict";
import { test } from "node:test";
import { caseUuid } from "../../../src/demo/case.ts";
import { killedAt, refused, runs } from "../../hostile/cli.ts";
import { deploy, extractAndPlan } from "../../hostile/deployment.ts";
import { tenant } from "../../hostile/fleet.ts";
import { engines } from "../../lab/engines.ts";
import { cloud, IMAGES } from "./cloud.ts";
import { rowsOf, sameRows } from "./rows.ts";

const FREE = 3;

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, a plan of yesterday loads no machine whose tenant came, went, moved or is worked on since, and goes on with those it began`, async (t) => {
    const made = await deploy(
      engine,
      t,
      cloud({
        ...{ machines: FREE, others: 2 },
        node: (id, place) => {
          const here = { ...place, service_host: "compute-1" };
          return id === FREE ? { id, ...here } : tenant(id, here);
        },
      }),
    );
    const { at, source, reader, writer, novaWriter, nova, ironic } = made;
    const beside = source.slice(2, 4);
    await extractAndPlan(made, ...beside, ...IMAGES);
    const before = [await rowsOf(nova), await rowsOf(ironic)] as const;
    const apply = ["apply", ...at, ...writer, ...novaWriter, "--yes", "-q"];
    const instance = (id: number) => nova.db("instances").where({ id });
    const stale = async (saying: RegExp): Promise<void> =>
      void (await refused(apply, 4, "N2I-E300", [saying, /extract again/]));

    const [row] = await instance(1);
    const came = caseUuid("instance", 77);
    const node = caseUuid("node", FREE).toUpperCase();
    await nova.db("instances").insert({ ...row, id: 77, uuid: came, node });
    await stale(/bm_nodes\.id=3 is planned with no instance, and instance b0+-.*77 is on it/);
    await instance(77).delete();
    await instance(1).update({ deleted: 1 });
    await stale(/bm_nodes\.id=1 instance b0+-.*1 is deleted in nova/);
    await instance(1).update({ deleted: 0, task_state: "rebuilding" });
    await stale(/bm_nodes\.id=1 instance b0+-.*1 task_state is rebuilding/);
    await instance(1).update({ task_state: null, host: "kvm-1" });
    await stale(/bm_nodes\.id=1 instance b0+-.*1 host is "kvm-1", should be "compute-1"/);
    await instance(1).update({ host: "compute-1" });
    sameRows(await rowsOf(nova), before[0]);
    sameRows(await rowsOf(ironic), before[1]);

    await killedAt("commit.after:1", apply);
    // Ironic has them by now, and so may their tenants.
    await instance(1).update({ task_state: "rebuilding" });
    await runs(0, apply);
    await runs(0, ["verify", ...at, ...reader, ...beside, "-q"]);
    await nova.db("instances").insert({ ...row, id: 77, uuid: came, node });
    const found = await runs(2, ["verify", ...at, ...reader, ...beside, "-q"]);
    assert.match(
      found.out,
      /a0+-.*3 .*instance b0+-.*77: names this node, which has another instance/,
    );
  });
