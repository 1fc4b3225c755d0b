import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { pauseShorter } from "../../src/systems/openstack/passing.ts";
import { runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import type { Says } from "../support/faulty-service.ts";
import { ID, type NovaInMemory, novaInMemory } from "./nova-memory.ts";

export type Place = Awaited<ReturnType<typeof place>>;

export async function place(t: TestContext) {
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  const cloud = await novaInMemory(t);
  const names = ["NETWORK", "COMPUTE", "PLACEMENT"];
  const env = Object.fromEntries(
    names.map((name) => [`OS_${name}_ENDPOINT_OVERRIDE`, cloud.url] as const),
  );
  const at = ["--run", join(privateFolder(t), "run"), "--ironic-url", cloud.url];
  const [before, how] = [cloud.dump(), { env }];
  return {
    ...{ cloud, at, how, before },
    rollback: (status = 0) => runs(status, ["rollback", ...at, "--all", "--yes"], how),
    /** Rolls back the run, after which everything is as before. */
    async undone() {
      await runs(0, ["rollback", ...at, "--all", "--yes"], how);
      assert.equal(cloud.dump(), before);
    },
  };
}

export function tokenFor(project: string): Says {
  const text = JSON.stringify({ token: { project: { id: project }, catalog: [] } });
  return { status: 201, text, fields: { "X-Subject-Token": project } };
}

export function loginAt({ url }: NovaInMemory, { env }: Place["how"]): Place["how"] {
  const user = { OS_USERNAME: "u", OS_PASSWORD: "pw", OS_PROJECT_NAME: "by-token" };
  return { env: { ...env, OS_AUTH_URL: url, OS_BAREMETAL_ENDPOINT_OVERRIDE: url, ...user } };
}

/** Calls that are not reads, besides the login's. */
export const writes = ({ calls }: NovaInMemory): readonly string[] =>
  calls.filter((call) => !/^GET |^POST .v3.auth/.test(call));

export const manage = ["node", "manage", ID.toUpperCase(), "Web server 1"] as const;
export const NOVA = ["--nova", "--flavor", "gold", "--watch", "0"] as const;
