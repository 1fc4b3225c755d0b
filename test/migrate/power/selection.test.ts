import assert from "node:assert/strict";
import { test } from "node:test";
import { deployed, readings, run, user } from "./deployed.ts";

test("--only VERDICT and --host ask a part again, and the report tells whose the machines are", async (t) => {
  const wrong = { users: [{ name: "admin", password: "another" }] };
  const at = await deployed(
    t,
    [{ users: user(1) }, wrong, wrong, { users: user(4), closed: true }],
    (addresses) => ({
      nova_bm: {
        nodes: addresses.map((pm_address, n) => ({
          ...{ id: n + 1, pm_address, service_host: n === 2 ? "compute-2" : "compute-1" },
        })),
      },
      nova_conf: { "compute-1": {}, "compute-2": {} },
    }),
  );
  const power = (...words: readonly string[]) =>
    run(at.folder, ["power", "--run", "run", "--deadline", "3", ...words]);
  const first = await power("--list", "-f", "json");
  assert.equal(first.code, 3, first.err);
  // The command prints what its own columns name.
  const rows = JSON.parse(first.out) as readonly { readonly [column: string]: unknown }[];
  assert.deepEqual(
    rows.map((row) => [row["BM ID"], row.Host, row.Verdict, row.Vendor, row.Firmware]),
    [
      ["1", "compute-1", "ok", "IANA 4753", "5.03"],
      ["2", "compute-1", "wrong-password", null, null],
      ["3", "compute-2", "wrong-password", null, null],
      ["4", "compute-1", "port-closed", null, null],
    ],
  );
  assert.match(String(rows[0]?.UUID), /^[0-9a-f-]{36}$/);
  assert.match(first.err, /^ +1 {2}wrong-password +compute-2 +198\.1[89]\.\d+\.0\/24$/m);

  const asked = (): readonly (string | undefined)[] =>
    readings(at.folder).map(({ asked_at }) => asked_at);
  const times = asked();
  const again = await power("--only", "wrong-password", "--host", "compute-2");
  assert.equal(again.code, 3, again.err);
  assert.deepEqual(
    asked().map((time, n) => time === times[n]),
    [true, true, false, true],
  );
  const none = await power("--host", "compute-9");
  assert.match(none.err, /N2I-E306.*"compute-9" is not in the snapshot/s);
});
