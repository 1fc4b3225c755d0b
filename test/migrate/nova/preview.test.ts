import assert from "node:assert/strict";
import { test } from "node:test";
import { caseUuid } from "../../../src/demo/case.ts";
import { ends, runs } from "../../hostile/cli.ts";
import { engines } from "../../lab/engines.ts";
import { plannedCloud } from "./planned.ts";
import { rowsOf, sameRows } from "./rows.ts";

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, what Ironic would leave of a machine is previewed with its rows of nova, and a lock as that`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { act, at, reader, source, nova, ironic } = made;
    await ends(0, act(["apply"]));
    const [first, second, third] = [1, 2, 3].map((id) => caseUuid("node", id));
    const node = (uuid = "") => ironic.db("nodes").where({ uuid });
    await node(first).update({ reservation: "conductor-1" });
    const [own] = await node(second).select("instance_info");
    await node(second).update({ instance_info: "{}" });
    await ironic
      .db("ports")
      .where({ node_id: (await node(third).select("id"))[0]?.id })
      .del();
    await node(third).del();
    const loaded = [await rowsOf(ironic), await rowsOf(nova)] as const;
    const words = ["rollback", ...at, ...reader, ...source.slice(2, 4), "--all", "--plan"];
    const { out } = await runs(0, [...words, "-f", "csv"]);
    sameRows(await rowsOf(ironic), loaded[0]);
    const lines = out.split("\n");
    const of = (text: string) => lines.filter((line) => line.includes(text)).join("\n");
    assert.match(
      of(`"node","${first}"`),
      /^"remove",.*,1,"reserved by conductor conductor-1: it is/,
    );
    const changed = `changed since it was loaded: instance_info[^"]*`;
    assert.match(of(`"node","${second}"`), new RegExp(`^"leave",.*,2,"${changed}"$`));
    assert.match(
      of('"instances","2"'),
      new RegExp(`^"leave",.*"in Ironic node:${second} ${changed}"$`),
    );
    assert.match(of('"instances","1"'), /^"restore"/);
    assert.equal(of(`"node","${third}"`), "", "it is gone already");
    // Nobody says where Ironic is: then that is said.
    const blind = await runs(0, ["rollback", ...at, ...source.slice(2, 4), "--all", "--plan"]);
    assert.match(blind.err, /^Ironic is not asked, .* its rows of nova with it\.$/m);

    await node(first).update({ reservation: null });
    const back = await ends(2, act(["rollback", "--all", "-f", "csv", "-c", "Row"]));
    assert.match(back.out, new RegExp(`^"node:${second}"$`, "m"));
    const rows = await rowsOf(nova);
    assert.deepEqual(
      [1, 2, 3].map((id) => rows.get(`instances:${id}`)?.host),
      ["compute-1", "ironic-compute", "compute-1"],
    );
    await node(second).update({ ...own });
    await ends(0, act(["rollback", "--all"]));
    sameRows(await rowsOf(nova), made.before.nova);
  });
