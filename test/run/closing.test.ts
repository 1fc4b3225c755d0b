import assert from "node:assert/strict";
import { test } from "node:test";
import { closing } from "../../src/run/databases.ts";

test("all that is kept is closed, the last first, though some fail; the first failure is told", async () => {
  const closed: string[] = [];
  const system = (name: string, fails: boolean) => ({
    close: async () => {
      closed.push(name);
      if (fails) throw new Error(`${name} fails`);
    },
  });
  const open = (work: () => string) =>
    closing(async (keep) => {
      for (const name of ["nova", "ironic", "journal"]) keep(system(name, name !== "nova"));
      return work();
    });
  await assert.rejects(
    open(() => "done"),
    { message: "journal fails" },
  );
  assert.deepEqual(closed, ["journal", "ironic", "nova"]);
  const broken = () => {
    throw new Error("the work fails");
  };
  await assert.rejects(open(broken), { message: "the work fails" });
  assert.deepEqual(closed.slice(3), ["journal", "ironic", "nova"]);
});
