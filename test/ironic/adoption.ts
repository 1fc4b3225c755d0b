import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type Case, caseUuid } from "../cases/case.ts";
import { writeCase } from "../cases/write-case.ts";
import { run } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { acceptOf, FAKE_POWER, SITE, tenant } from "../hostile/fleet.ts";
import { apiOf } from "../lab/ironic/api.ts";
import type { IronicAt } from "../lab/ironic/start.ts";
import { machinesIn } from "../support/plan-files.ts";

const ACCEPTED = acceptOf(
  ...["N2I-D107", "N2I-D127", "N2I-D403", "N2I-D604", "N2I-D605", "N2I-D755"],
);

/** A tenant's machine that is held in maintenance, a free one, one in use: each step of the road. */
export const THREE: readonly string[] = [1, 2, 3].map((id) => caseUuid("node", id));

function three(more: Pick<Case, "nova">, set: { readonly [field: string]: string }): Case {
  return {
    shows: "machines nobody can switch",
    ...more,
    nova_bm: { nodes: [tenant(1, { task_state: null }), { id: 2 }, tenant(3)] },
    nova_conf: { "*": FAKE_POWER },
    site: {
      ...SITE,
      machines: [
        ...SITE.machines,
        { match: {}, accept: ACCEPTED },
        { match: { uuid: caseUuid("node", 3) }, set: { traits: ["CUSTOM_FAST"], ...set } },
      ],
    },
    allow_pairing: true,
  };
}

/**
 * Three machines that nobody can switch, extracted; Ironic is reached by `words`.
 *
 * @param env of every command
 * @param more what nova says, and what the site document sets of the third
 */
export async function adoption(
  t: TestContext,
  ironic: IronicAt,
  words: readonly string[],
  env: { readonly [name: string]: string } = {},
  more: Pick<Case, "nova"> & { readonly set?: { readonly [field: string]: string } } = {},
) {
  const { set = {}, ...nova } = more;
  const folder = privateFolder(t);
  const written = await writeCase(three(nova, set), folder);
  const at = ["--run", join(folder, "run")];
  const own: { readonly [command: string]: readonly string[] } = {
    extract: written.extract,
    plan: [...words, ...written.plan],
    status: [],
  };
  const api = apiOf(ironic);
  /** Runs a command on the run and asserts its status; "killed" is death by a failpoint. */
  const does = async (
    status: number | "killed",
    command: string,
    options: readonly string[] = [],
    more: { readonly [name: string]: string } = {},
  ) => {
    const line = [command, ...at, ...(own[command] ?? words), ...options];
    const ran = await run(line, { env: { ...env, ...more } });
    assert.equal(ran.status, status === "killed" ? 128 : status, `${ran.out}${ran.err}`);
    return ran;
  };
  await does(0, "extract");
  return {
    ...{ api, folder, does },
    plan: () => machinesIn(join(folder, "run")),
    /** Uuid and state of every node, and how many ports: what a double or an orphan would show in. */
    async there() {
      const nodes = rows(await api("GET", "/v1/nodes?fields=uuid,provision_state"), "nodes");
      const ports = rows(await api("GET", "/v1/ports"), "ports");
      return {
        nodes: nodes.map(({ uuid, provision_state }) => `${uuid} ${provision_state}`).toSorted(),
        ports: ports.length,
      };
    },
  };
}

/** What all three are once they are adopted. */
export const ADOPTED = {
  nodes: [`${THREE[0]} active`, `${THREE[1]} available`, `${THREE[2]} active`],
  ports: 3,
};
export const NOTHING = { nodes: [], ports: 0 };

function rows(answer: { readonly body: unknown }, name: string) {
  // The API's own form.
  return (answer.body as Record<string, Record<string, string>[]>)[name] ?? [];
}
