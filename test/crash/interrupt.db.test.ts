import assert from "node:assert/strict";
import { test } from "node:test";
import type { Started } from "../hostile/cli.ts";
import { fleet } from "../support/fleet.ts";
import { type Scene, scene } from "../support/scene.ts";
import { ALL, prepared, YES } from "./matrix.ts";
import { rowsOf } from "./points.ts";
import { ends, loadedRows, statusOf } from "./truth.ts";

const STATUS = { SIGINT: 130, SIGTERM: 143 } as const;

/** Stops at the first batch's commit and sends the signal, once or twice. */
async function signalled(
  { start }: Scene,
  command: "apply" | "rollback",
  signal: keyof typeof STATUS,
  times: 1 | 2,
): Promise<Started> {
  const words = command === "apply" ? YES : ALL;
  const started = start(command, words, "commit.before:1:pause");
  await started.said("failpoint commit.before");
  started.signal(signal);
  await started.said("A second signal stops immediately");
  // Waiting at the failpoint it is inside the batch: once it goes on, twice it does not get to.
  started.signal(times === 1 ? "SIGUSR2" : signal);
  return started;
}

test("a run that is asked to stop can be gone on with", async (t) => {
  const made = await prepared("sqlite", t);
  await t.test("SIGINT once lets an apply finish its batch", async () => {
    await made.restore("fresh");
    const { err } = await ends(STATUS.SIGINT, await signalled(made, "apply", "SIGINT", 1));
    assert.match(err, /^Stopped on request\.\nNext: nova2ironic apply /m);
    assert.equal(await loadedRows(made), rowsOf(1));
    const { apply, next } = await statusOf(made);
    assert.match(apply, new RegExp(`: ${rowsOf(1)} rows created in 1 batch$`));
    assert.match(next, / apply .*resumes where it stopped/);
    await ends(0, made.does("apply", YES));
    assert.equal(await made.digest(), made.after);
  });

  await t.test(
    "SIGTERM twice ends an apply at once, and nothing of its batch is kept",
    async () => {
      await made.restore("fresh");
      await ends(STATUS.SIGTERM, await signalled(made, "apply", "SIGTERM", 2));
      assert.equal(await loadedRows(made), 0);
      assert.match((await statusOf(made)).apply, / 0 rows created .*1 batch begun and not/);
      await ends(0, made.does("apply", YES));
      assert.equal(await made.digest(), made.after);
    },
  );

  await t.test("SIGTERM once lets a rollback finish its batch", async () => {
    await made.restore("applied");
    await ends(STATUS.SIGTERM, await signalled(made, "rollback", "SIGTERM", 1));
    assert.equal(await loadedRows(made), rowsOf(3) - rowsOf(1));
    const still = `${rowsOf(3) - rowsOf(1)} rows of \\d+ machines are still in Ironic$`;
    const { apply, next } = await statusOf(made);
    assert.match(apply, new RegExp(`, ${rowsOf(1)} rows rolled back; ${still}`));
    assert.match(next, new RegExp(`^nova2ironic rollback .*--all {2}# ${still}`));
    await ends(0, made.does("rollback", ALL));
    assert.equal(await made.digest(), made.before);
  });

  await t.test("a rollback that was stopped can be turned round by an apply", async () => {
    await made.restore("applied");
    await ends(130, await signalled(made, "rollback", "SIGINT", 1));
    await ends(0, made.does("apply", YES));
    assert.equal(await made.digest(), made.after);
    const { out } = await ends(0, made.does("rollback", ["--all", "--plan", "-f", "csv"]));
    assert.equal(out.match(/^"?remove"?,/gm)?.length, rowsOf(3));
  });
});

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, SIGINT twice leaves no row and no lock`, async (t) => {
    const made = await scene(engine, t, fleet(6));
    const before = await made.digest();
    await ends(130, await signalled(made, "apply", "SIGINT", 2));
    await made.connections.gone();
    assert.equal(await made.digest(), before);
    await ends(0, made.does("apply", YES));
    assert.equal(await loadedRows(made), 12);
  });

/** Ten minutes for each statement, and one second from the signal on that lets a paused process go on. */
const LIMIT = "600";
const QUICKER = {
  NODE_OPTIONS:
    "--import=data:text/javascript,let%20by=1;process.on('SIGUSR2',()=>by=600);const%20set=setTimeout;globalThis.setTimeout=(f,ms,...more)=>set(f,ms/by,...more)",
};

test("on postgresql, a database that falls silent at the commit ends an apply, by the second signal or by itself", async (t) => {
  const made = await scene("postgresql", t, fleet(4), { proxy: true });
  const before = await made.digest();
  for (const status of [143, 5]) {
    const words = [...YES, "--db-timeout", LIMIT];
    const env = status === 5 ? QUICKER : {};
    const started = made.start("apply", words, "commit.before:1:pause", env);
    await started.said("failpoint commit.before");
    made.line?.silence();
    started.signal("SIGUSR2");
    if (status === 143) {
      started.signal("SIGTERM");
      await started.said("A second signal stops immediately");
      started.signal("SIGTERM");
    }
    const { err } = await ends(status, started);
    if (status === 5) {
      assert.match(
        err,
        /^No answer from .* for 300 s\. The connection is closed after 600 s \(--db-timeout\)\.$/m,
      );
      assert.match(err, /^ERROR N2I-E301 .*: N2I-E217 .* did not answer the COMMIT/m);
    }
    made.line?.fix();
    await made.connections.gone();
    assert.match((await statusOf(made)).apply, / 0 rows created .*1 batch begun and not/);
  }
  await ends(0, made.does("rollback", ALL));
  assert.equal(await made.digest(), before);
});

test("on mysql, a line that swallows the commit of a rollback ends it by itself, and the same command goes on", async (t) => {
  const made = await scene("mysql", t, fleet(4), { proxy: true });
  const before = await made.digest();
  await ends(0, made.does("apply", YES));
  const words = [...ALL, "--db-timeout", LIMIT];
  const started = made.start("rollback", words, "commit.before:1:pause", QUICKER);
  await started.said("failpoint commit.before");
  made.line?.silence();
  started.signal("SIGUSR2");
  const { err } = await ends(5, started);
  assert.match(err, /^ERROR N2I-E301 rollback stopped .*: N2I-E217 .* did not answer the COMMIT/m);
  made.line?.fix();
  await made.connections.gone();
  await ends(0, made.does("rollback", ALL));
  assert.equal(await made.digest(), before);
});
