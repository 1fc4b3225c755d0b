import assert from "node:assert/strict";
import { test } from "node:test";
import { EVERY } from "../../src/cli/views/every-row.ts";

const DB = { run: "m1", ironicDb: "file:/i.url" };
const AT = "--run m1";

test("the command that lists every row reads, whatever the one that told some of them did", () => {
  assert.deepEqual(
    [
      EVERY.plan(DB),
      EVERY.show({ file: "my run/plan", nova: true }),
      EVERY.verify(DB),
      EVERY.verify({ ...DB, takeover: true }),
      EVERY.handover({ ...DB, ...{ yes: true } }),
      EVERY.finish({ ...DB, undo: true }),
      EVERY.boot({ run: "m1", plan: false }),
      EVERY.rollback({ ...DB, all: true, leaveNova: true }),
    ],
    [
      "nova2ironic show m1/plan --all-rows",
      "nova2ironic show 'my run/plan' --nova --all-rows",
      `nova2ironic verify ${AT} --match 'Result=*'`,
      `nova2ironic verify ${AT} --takeover --match 'State=*'`,
      `nova2ironic verify ${AT} --takeover --match 'State=*'`,
      `nova2ironic finish ${AT} --undo --plan --all-rows`,
      "nova2ironic boot --run m1 --verify --all-rows",
      `nova2ironic rollback ${AT} --all --leave-nova --plan --all-rows`,
    ],
  );
});
