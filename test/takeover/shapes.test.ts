import assert from "node:assert/strict";
import { test } from "node:test";
import { ends } from "../hostile/cli.ts";
import { engines } from "../lab/engines.ts";
import { DOWN, hostCloud, type Shape } from "./cloud.ts";

/**
 * How a machine's row names its owner before and after: host, service, and its instance's host. Rows older
 * than an upgrade have no word of forced_down, and a host that is only disabled is none that is fenced.
 */
const SHAPES: readonly (readonly [string, Shape, boolean, string, string, null?])[] = [
  ["Juno's", 254, true, "1 - 1 H1", "1 - 2 H2"],
  ["Kilo's", 280, true, "1 H1 1 H1", "1 H2 2 H2"],
  ["Liberty's", 302, false, "1 H1 NULL H1", "1 H2 NULL H2"],
  ["an upgraded Liberty's", 302, false, "1 H1 NULL H1", "1 H2 NULL H2", null],
  ["26.2's", "8f2f1571d55b", false, "1 H1 NULL H1", "1 H2 NULL H2"],
  ["28.0.0's", "ab450ba04102", true, "1 H1 1 H1", "1 H2 2 H2"],
];

for (const engine of engines())
  for (const [name, shape, bound, before, after, forced = false] of SHAPES.filter(
    ([of]) => engine !== "postgresql" || of === "26.2's",
  ))
    test(`on ${engine}, a dead host of ${name} rows is fenced, its machines taken over, and given back`, async (t) => {
      const dead = { H1: { forced_down: forced, disabled: forced === null } };
      const wanted = { engine, shape, bound, services: dead, machines: 2 };
      const { host, owners, services } = await hostCloud(t, wanted);
      assert.equal((await owners())[0], before);
      const said = await services();
      await ends(0, host(...DOWN));
      assert.equal((await owners())[0], after);
      const [h1] = await services();
      const fenced = "forced_down" in (h1 ?? {}) ? h1?.forced_down : h1?.disabled;
      assert.deepEqual([Boolean(fenced), h1?.disabled_reason], [true, "nova2ironic h1"]);
      await ends(0, host("verify", "--queue-purged"));
      await ends(0, host("rollback", "--all", "--yes"));
      assert.equal((await owners())[0], before);
      assert.deepEqual(await services(), said);
    });
