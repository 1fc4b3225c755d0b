import assert from "node:assert/strict";
import { test } from "node:test";
import { canary } from "../../hostile/canaries.ts";
import { SITE, tenant } from "../../hostile/fleet.ts";
import { deploySecrets } from "../../hostile/secrets-case.ts";
import { engines } from "../../lab/engines.ts";
import { restored } from "./scene.ts";

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, a rehearsal tells and keeps no secret of either side, whether it goes well or not`, async (t) => {
    const made = await deploySecrets(engine, t, (secret) => ({
      shows: "secrets that are copied",
      nova_bm: {
        nodes: [
          tenant(1, { pm_password: secret("pm_password"), deploy_key: secret("deploy_key") }),
          { id: 2, pm_password: secret("second") },
        ],
      },
      nova_conf: { "*": { flavor_extra_specs: "cpu_arch:x86_64" } },
      site: SITE,
    }));
    const { at, source, reader, plan, ironic } = made;
    await ironic.db("nodes").insert({
      uuid: "d0000000-0000-4000-8000-000000000001",
      driver: "fake",
      driver_info: JSON.stringify({ ipmi_password: made.watch(canary("theirs")).text }),
    });
    const words = async () => [
      ...["rehearse", ...at, "--ironic-db", (await restored(t, made, ironic)).url],
      ...["--yes", "--debug"],
    ];
    const tried = async (status: number, asked: readonly string[]): Promise<void> => {
      const ran = await made.tried(asked);
      assert.deepEqual(ran.leaks, [], asked.join(" "));
      assert.equal(ran.status, status, `${asked.join(" ")}\n${ran.err}${ran.out}`);
    };
    await tried(0, ["extract", ...at, ...source]);
    await tried(0, ["plan", ...at, ...reader, ...plan, "--beside-others"]);
    await tried(0, await words());
    await tried(4, ["rehearse", ...at, ...reader, "--yes", "--debug"]);
    await tried(0, ["plan", ...at, ...reader, ...plan, "--beside-others"]);
    await ironic.db("nodes").update({ driver_info: made.watch(canary("not JSON")).text });
    await tried(0, await words());
  });
