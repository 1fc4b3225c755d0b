import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { type Ran, run as runTool, type Started, start } from "../hostile/cli.ts";
import { engines } from "../lab/engines.ts";
import { copyFolder } from "../support/copy-folder.ts";
import { fleet } from "../support/fleet.ts";
import { type Scene, scene } from "../support/scene.ts";
import { ALL, YES } from "./matrix.ts";
import { ends } from "./truth.ts";

const ROWS = 12;

/** The run again, in a folder of its own: the same snapshot, plan and key. */
function copied(made: Scene, name: string): Pick<Scene, "start" | "does"> {
  const run = join(made.folder, name);
  copyFolder(made.run, run);
  const words = (command: string, more: readonly string[]): readonly string[] => [
    ...[command, "--run", run, ...made.ironic, ...more],
  ];
  return {
    start: (command, more = []) => start(words(command, more)),
    does: (command, more = []): Promise<Ran> => runTool(words(command, more)),
  };
}

/** An apply that holds every lock, before its first commit. */
async function holding(made: Scene): Promise<Started> {
  const started = made.start("apply", YES, "commit.before:1:pause");
  await started.said("failpoint commit.before");
  return started;
}

for (const engine of engines())
  test(`on ${engine}, one run at a time writes to one Ironic`, async (t) => {
    const made = await scene(engine, t, fleet(ROWS / 2));
    const before = await made.digest();
    const other = copied(made, "other");
    const runs = ["one", "two", "three"].map((name) => copied(made, name));

    await t.test("of two that load one snapshot at once, one is kept out", async () => {
      const first = await holding(made);
      const { err } = await ends(11, other.does("apply", YES));
      assert.match(err, /^ERROR N2I-E302 .*another nova2ironic is writing to it/m);
      first.signal("SIGUSR2");
      await ends(0, first);
    });

    await t.test("later the other finds every row, and none is its own to take back", async () => {
      const after = await made.digest();
      const { out } = await ends(0, other.does("apply", YES));
      assert.match(out, new RegExp(`^Apply: 0 rows created, ${ROWS} unchanged`, "m"));
      await ends(0, other.does("rollback", ALL));
      assert.equal(await made.digest(), after);
    });

    await t.test("a rollback keeps an apply out", async () => {
      const undoing = made.start("rollback", ALL, "commit.before:1:pause");
      await undoing.said("failpoint commit.before");
      await ends(11, other.does("apply", YES));
      undoing.signal("SIGUSR2");
      await ends(0, undoing);
      assert.equal(await made.digest(), before);
    });

    await t.test("of three that start together, every row is loaded once", async () => {
      const ran = await Promise.all(runs.map((each) => each.start("apply", YES).ended));
      const told = ran.map(({ status, err }) => `exit ${status}\n${err}`).join("\n");
      assert.ok(
        ran.every(({ status }) => status === 0 || status === 11),
        told,
      );
      const created = ran.flatMap(({ out }) => out.match(/^Apply: (\d+) rows created/m)?.[1] ?? []);
      const sum = created.reduce((rows, more) => rows + Number(more), 0);
      assert.equal(sum, ROWS, told);
      await ends(0, made.does("verify"));
    });
  });
