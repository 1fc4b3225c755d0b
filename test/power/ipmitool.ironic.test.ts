import assert from "node:assert/strict";
import { test } from "node:test";
import { deployed, readings, run, user } from "./deployed.ts";

for (const client of ["ipmitool", "both"])
  test(`--ipmi-client ${client} tells good machines from bad ones`, async (t) => {
    const bmcs = [
      { users: user(1), power: true },
      { users: user(2), power: false },
      { users: [{ name: "admin", password: "another" }] },
      // It waits five seconds for the list of suites, and is stopped before.
      { users: user(4), silent54: true },
    ];
    const at = await deployed(t, bmcs, {}, "port 623");
    const like = ["--ipmi-client", client, "--conductor-ipmitool", "1.8.19"];
    const words = ["power", "--run", "run", "--deadline", "5", ...like];
    const asked = await run(at.folder, words);
    assert.equal(asked.code, 3, asked.err);
    assert.deepEqual(
      readings(at.folder).map(({ verdict, power }) => [verdict, power]),
      [
        ["ok", "on"],
        ["ok", "off"],
        // Without -v ipmitool does not say why.
        [client === "both" ? "wrong-password" : "no-session", null],
        ["deadline", null],
      ],
    );
    assert.doesNotMatch(asked.out + asked.err, /bmc-secret/);
  });
