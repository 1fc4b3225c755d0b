import assert from "node:assert/strict";
import { readdirSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runs } from "../hostile/cli.ts";
import { fleet } from "../support/fleet.ts";
import { scene } from "../support/scene.ts";
import { ALL, YES } from "./matrix.ts";
import { ends, loadedRows } from "./truth.ts";

test("a lost plan keeps nothing from being taken back but what it loaded itself", async (t) => {
  const made = await scene("sqlite", t, fleet(4));
  const { run, source, ironic, plan } = made;
  /** Plans beside the present one. */
  const kept = (): readonly string[] =>
    readdirSync(run).filter(
      (name) => /^plan-/.test(name) && name !== readlinkSync(join(run, "plan")),
    );
  const again = async (): Promise<void> => {
    await runs(0, ["extract", "--run", run, ...source]);
    await runs(0, ["plan", "--run", run, ...ironic, ...plan]);
  };
  await ends(0, made.does("apply", YES));
  await t.test("refused while its rows are there", async () => {
    await again();
    const [name = ""] = kept();
    assert.match(name, /^plan-[0-9a-f]{12}$/);
    await made.save("loaded");
    rmSync(join(run, name), { recursive: true });
    const { err } = await ends(64, made.does("rollback", ALL));
    assert.match(err, /N2I-E110 .* has no plan with the digest/);
    await made.restore("loaded");
  });
  await ends(0, made.does("rollback", ALL));
  await again();
  await ends(0, made.does("apply", YES));
  for (const name of kept()) rmSync(join(run, name), { recursive: true });
  await ends(0, made.does("rollback", ALL));
  assert.equal(await loadedRows(made), 0);
});
