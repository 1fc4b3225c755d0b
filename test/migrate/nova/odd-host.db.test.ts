import assert from "node:assert/strict";
import { test } from "node:test";
import { ends, run, runs } from "../../hostile/cli.ts";
import { deploy } from "../../hostile/deployment.ts";
import { cloud } from "./cloud.ts";
import { rowsOf, sameRows } from "./rows.ts";

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, a host name that nova's charset cannot hold is refused whole, and the load goes back`, async (t) => {
    const made = await deploy(engine, t, cloud({ machines: 2, others: 2 }), { nova: "latin1" });
    const { at, source, reader, writer, novaWriter, nova, ironic } = made;
    await runs(0, ["extract", ...at, ...source, "-q"]);
    const host = ["--compute-host", "eisen-\u0142\u00f3d\u017a"];
    const words = ["plan", ...at, ...reader, ...source.slice(2, 4), ...made.plan, ...host, "-q"];
    assert.match((await runs(0, words)).out, /N2I-D245/);
    const before = [await rowsOf(nova), await rowsOf(ironic)] as const;
    const acting = [...at, ...writer, ...novaWriter, "--yes", "-q"];
    assert.notEqual((await run(["apply", ...acting])).status, 0);
    sameRows(await rowsOf(nova), before[0]);
    await ends(0, run(["rollback", ...acting, "--all"]));
    sameRows(await rowsOf(nova), before[0]);
    sameRows(await rowsOf(ironic), before[1]);
  });
