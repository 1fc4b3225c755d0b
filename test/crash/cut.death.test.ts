import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Started } from "../hostile/cli.ts";
import { ALL, type Prepared, prepared, YES } from "./matrix.ts";
import { APPLYING, type Point, rowsOf, UNDOING } from "./points.ts";
import { ends, statusOf } from "./truth.ts";

/** How connections end: the line is cut, until the command ended or not; or an administrator does it. */
type Means = "cut" | "cut for good" | "killed by the server";

/** Runs a command up to the point, ends its connections there, and lets it go on into that. */
async function loses(
  scene: Prepared,
  point: string,
  means: Means,
  command: string,
  options: readonly string[],
): Promise<string> {
  const started: Started = scene.start(command, options, `${point}:pause`);
  await started.said(`failpoint ${point.split(":")[0]}`);
  if (means === "killed by the server") await scene.connections.kill();
  else scene.line?.cut({ forGood: means === "cut for good" });
  started.signal("SIGUSR2");
  // Before the first batch is begun nothing is written, and it is said so.
  const before = point.startsWith("open.");
  const { err } = await ends(before ? 1 : 5, started);
  assert.match(err, before ? /^ERROR N2I-E200 /m : /^ERROR N2I-E301 .*: N2I-E2(00|17) /m);
  assert.doesNotMatch(err, /bmc-secret|N2I-E900/);
  scene.line?.fix();
  await scene.connections.gone();
  return err;
}

interface PowerMethod {
  readonly command: "apply" | "rollback";
  readonly options: readonly string[];
  /** The kept state it sets out from, and the digest it must reach. */
  readonly from: "fresh" | "applied";
  readonly to: "after" | "before";
}

const ON: PowerMethod = { command: "apply", options: YES, from: "fresh", to: "after" };
const BACK: PowerMethod = { command: "rollback", options: ALL, from: "applied", to: "before" };

/** Ends the connections of a command at these points; the same command then goes on. */
async function cutAll(
  t: TestContext,
  scene: Prepared,
  means: Means,
  points: readonly Point[],
  { command, options, from, to }: PowerMethod,
): Promise<void> {
  for (const point of points)
    await t.test(`its connections ${means} at ${point.name}, ${command} goes on`, async () => {
      await scene.restore(from);
      await loses(scene, point.name, means, command, options);
      await ends(0, scene.does(command, options));
      assert.equal(await scene.digest(), scene[to]);
    });
}

async function goesBack(t: TestContext, scene: Prepared): Promise<void> {
  await t.test("an apply that lost its connection at the commit can be rolled back", async () => {
    await scene.restore("fresh");
    await loses(scene, "commit.before:2", "cut", "apply", YES);
    const { apply } = await statusOf(scene);
    assert.match(
      apply,
      new RegExp(`${rowsOf(1)} rows created in 1 batch, 1 batch begun and not recorded as done`),
    );
    await ends(0, scene.does("rollback", ALL));
    assert.equal(await scene.digest(), scene.before);
  });
}

/** After the last batch an apply still verifies: without an answer it must not say that all is well. */
async function cutBeforeVerify(t: TestContext, scene: Prepared): Promise<void> {
  await t.test(
    "an apply that lost its connection before verify says that all is loaded",
    async () => {
      await scene.restore("fresh");
      const err = await loses(scene, "done.after:3", "cut for good", "apply", YES);
      assert.match(err, /everything is loaded, but verify did not finish/);
      assert.equal(await scene.digest(), scene.after);
    },
  );
}

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, the connection may be lost at any moment`, async (t) => {
    const scene = await prepared(engine, t, { proxy: true });
    await cutAll(t, scene, "cut", APPLYING, ON);
    await cutAll(t, scene, "cut", UNDOING, BACK);
    await goesBack(t, scene);
    await cutBeforeVerify(t, scene);
    const some = APPLYING.filter(({ name }) => /^(begin.after|commit)/.test(name));
    await cutAll(t, scene, "killed by the server", some, ON);
  });
