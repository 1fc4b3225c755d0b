import assert from "node:assert/strict";
import { test } from "node:test";
import { ends } from "../hostile/cli.ts";
import { engines } from "../lab/engines.ts";
import { changes, rowsOf, sameRows } from "../migrate/nova/rows.ts";
import { hostCloud, MOVE, PLAN } from "./cloud.ts";

for (const engine of engines("sqlite", "mysql"))
  for (const bound of [false, true])
    test(`on ${engine}, a move writes host${bound ? " and service_id" : ""} of compute nodes and host of instances, and nothing else of all tables`, async (t) => {
      const { host, made } = await hostCloud(t, {
        engine,
        bound,
        shape: bound ? "ab450ba04102" : 302,
      });
      const before = await rowsOf(made);
      await ends(0, host(...PLAN));
      sameRows(await rowsOf(made), before);
      await ends(0, host(...MOVE));
      const computes = bound ? "compute_nodes service_id host" : "compute_nodes host";
      const written = changes(before, await rowsOf(made));
      const sorted = Object.fromEntries(
        Object.entries(written).map(([what, rows]) => [what.split(" ").toSorted().join(" "), rows]),
      );
      const wanted = computes.split(" ").toSorted().join(" ");
      assert.deepEqual(sorted, { [wanted]: 4, "host instances": 2 });
      await ends(0, host("rollback", "--all", "--yes"));
      sameRows(await rowsOf(made), before);
    });
