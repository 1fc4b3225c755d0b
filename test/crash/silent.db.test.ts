import assert from "node:assert/strict";
import { test } from "node:test";
import { fleet } from "../support/fleet.ts";
import { scene } from "../support/scene.ts";
import { ALL, YES } from "./matrix.ts";
import { ends, statusOf } from "./truth.ts";

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
      await started.said("once more stops at once");
      started.signal("SIGTERM");
    }
    const { err } = await ends(status, started);
    if (status === 5) {
      assert.match(
        err,
        /^No answer from .* for 300 s; it is given up after 600 s \(--db-timeout\)\.$/m,
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
