import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { acceptOf, SITE } from "../../hostile/fleet.ts";
import type { BmcOptions } from "../../support/bmc/index.ts";
import { deployed, user } from "./deployed.ts";

const busy = { code: 0xc0, times: 1000, command: "00/01" };

/** One machine for each finding of the gate that IPMI brings; the fifth is not asked. */
const MACHINES: readonly (readonly [string, Partial<BmcOptions>])[] = [
  ["N2I-D600", { users: user(1), dead: true }],
  ["N2I-D601", { users: [{ name: "admin", password: "another" }] }],
  ["N2I-D602", { users: [{ name: "admin", password: "bmc-secret-3", limit: 3 }] }],
  ["N2I-D603", { users: user(4), power: false }],
  ["N2I-D604", { users: user(5) }],
  ["N2I-D605", { users: user(6) }],
  ["N2I-D606", { users: user(7), busy }],
  ["N2I-D607", { users: user(8) }],
];

test("each finding of the gate blocks its machine, and is accepted by its own word alone", async (t) => {
  const bmcs = MACHINES.map(([, bmc]) => bmc);
  const at = await deployed(t, bmcs, (addresses) => ({
    nova_bm: {
      nodes: addresses.map((pm_address, n) => ({
        ...{ id: n + 1, pm_address },
        ...(n === 3 && {
          instance_uuid: "b0000000-0000-4000-8000-000000000004",
          ...{ instance_name: "tenant-4", task_state: "active" },
          ...{ root_mb: 40_960, swap_mb: 1, ephemeral_mb: 0 },
        }),
        ...(n === 7 && { pm_user: "n".repeat(17) }),
      })),
    },
  }));
  const site = join(at.folder, "decisions.json");
  const accepts = (...codes: readonly string[]): void => {
    const fake = { match: { uuid: "*0006" }, set: { power_manager: "fake" } };
    const machines = [...SITE.machines, fake, { match: {}, accept: acceptOf(...codes) }];
    writeFileSync(site, JSON.stringify({ ...SITE, machines }));
  };
  accepts();
  const nodes = [1, 2, 3, 4, 6, 7, 8].flatMap((id) => ["--node", String(id)]);
  await at.power(3, "--deadline", "2", "--site", site, ...nodes);
  for (const accepted of [[], ...MACHINES.map(([code]) => [code])]) {
    accepts(...accepted);
    const { out } = await at.plan(accepted.length > 0 ? 0 : 6, "--site", site);
    for (const [n, [code]] of MACHINES.entries()) {
      const verdict = accepted.includes(code) ? "create" : `blocked +${code}`;
      assert.match(out, new RegExp(`00000000000${n + 1} +${verdict}`), out);
    }
  }
});
