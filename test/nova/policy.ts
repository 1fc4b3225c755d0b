import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { run, runs } from "../hostile/cli.ts";
import { deployFiles } from "../hostile/deployment.ts";
import type { Cloud } from "../lab/cloud/start.ts";
import { checkRows } from "./check-output.ts";
import { cloud } from "./cloud.ts";

const NAMES = [
  ...["--deploy-kernel", "name:deploy kernel, of 2015"],
  ...["--deploy-ramdisk", "name:deploy.initrd"],
];

/** What a real Nova's policy says to an admin, a member and a reader, and that their calls agree. */
export async function policyAsked(
  t: TestContext,
  real: Cloud,
  specs: () => Promise<unknown>,
): Promise<void> {
  const made = await deployFiles(t, cloud({ machines: 2, others: 3 }));
  const { at, source, reader, plan, writer, novaWriter } = made;
  await runs(0, ["extract", ...at, ...source, "-q"]);
  const words = ["plan", ...at, ...reader, ...source.slice(2, 4), ...plan, ...NAMES];
  const half = [...words, "--flavor", "4", "--flavors-via", "rest", "-q"];
  const planned = await run(half, { env: real.env });
  assert.equal(planned.status, 0, planned.err);
  const before = await specs();
  const privileges = async (env: Cloud["env"]) => (await checkRows(made, [], env))("Privileges");
  assert.match(await privileges(real.env), /^Success: Nova's policy allows PUT, POST, DELETE on/);
  for (const role of ["reader", "member"]) {
    const env = await user(real, role);
    assert.match(
      await privileges(env),
      /^Failure: 3 calls .*: PUT os-extra_specs, POST os-extra_specs, DELETE os-extra_specs\.\n/,
    );
    const acts = [...at, ...writer, ...novaWriter, "--yes", "-q"];
    const applied = await run(["apply", ...acts], { env });
    assert.match(applied.err, /after 0 rows .*403 .*Policy doesn't allow os_compute_api:os-flavor/);
  }
  assert.deepEqual(await specs(), before);
}

/** A user with this role in the operator's project: Keystone's bootstrap made the roles. */
async function user({ api, env }: Cloud, role: string): Promise<Cloud["env"]> {
  const ask = async (method: string, path: string, body?: unknown) =>
    // Keystone's answers of its own API.
    (await api("identity", method, path, body)).body as {
      readonly user: { readonly id: string };
      readonly roles: readonly [{ readonly id: string }];
      readonly projects: readonly [{ readonly id: string }];
    };
  const password = `of-the-${role}-0d2f`;
  const made = await ask("POST", "/users", { user: { name: role, password } });
  const [{ id: roleId }] = (await ask("GET", `/roles?name=${role}`)).roles;
  const [{ id: project }] = (await ask("GET", `/projects?name=${env.OS_PROJECT_NAME}`)).projects;
  const path = `/projects/${project}/users/${made.user.id}/roles/${roleId}`;
  assert.equal((await api("identity", "PUT", path)).status, 204);
  return { ...env, OS_USERNAME: role, OS_PASSWORD: password };
}
