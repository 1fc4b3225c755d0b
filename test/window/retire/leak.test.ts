import assert from "node:assert/strict";
import { test } from "node:test";
import { SITE, tenant } from "../../hostile/fleet.ts";
import { deploySecrets } from "../../hostile/secrets-case.ts";
import { engines } from "../../lab/engines.ts";

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, retire prints no secret`, async (t) => {
    const made = await deploySecrets(engine, t, (secret) => ({
      shows: "secrets of nova_bm",
      nova_bm: {
        columns: { bm_nodes: { vendor_password: "varchar(255)" } },
        nodes: [
          tenant(1, { pm_password: secret("pm_password"), deploy_key: secret("deploy_key") }),
          { id: 2, pm_password: secret("second"), vendor_password: secret("fork's") },
          { id: 3, deleted: true, pm_password: secret("deleted") },
        ],
      },
      nova_conf: { "*": { flavor_extra_specs: "cpu_arch:x86_64" } },
      site: { ...SITE, drop: { "bm_nodes.vendor_password": "the vendor's tool is gone" } },
    }));
    const { at, source, reader, writer, plan } = made;
    const retire = ["retire", ...at, ...source.slice(0, 2)];
    for (const [status, words] of [
      [0, ["extract", ...at, ...source]],
      [0, ["plan", ...at, ...reader, ...plan]],
      [0, ["apply", ...at, ...writer, "--yes"]],
      [4, [...retire, ...reader, "--debug"]],
      [0, ["finish", ...at, ...writer, "--yes"]],
      [0, [...retire, ...reader, "--debug"]],
    ] as const) {
      const ran = await made.tried(words);
      assert.deepEqual(ran.leaks, [], words.join(" "));
      assert.equal(ran.status, status, `${words.join(" ")}\n${ran.err}${ran.out}`);
    }
  });
