import assert from "node:assert/strict";
import { test } from "node:test";
import { fleet } from "../support/fleet.ts";
import { scene } from "../support/scene.ts";
import { ALL, YES } from "./matrix.ts";
import { ends, statusOf } from "./truth.ts";

test("on postgresql, a database that falls silent at the commit ends an apply, by the second signal or by itself", async (t) => {
  const made = await scene("postgresql", t, fleet(4), { proxy: true });
  const before = await made.digest();
  for (const [seconds, status] of [
    ["600", 143],
    ["4", 5],
  ] as const) {
    const words = [...YES, "--db-timeout", seconds];
    const started = made.start("apply", words, "commit.before:1:pause");
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
        /^No answer from .* for 2 s; it is given up after 4 s \(--db-timeout\)\.$/m,
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
  const started = made.start("rollback", [...ALL, "--db-timeout", "4"], "commit.before:1:pause");
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
