import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Knex } from "knex";

import { writeCase } from "../cases/write-case.ts";
import { runs } from "../hostile/cli.ts";

import { privateFolder } from "../hostile/deployment.ts";
import { startIpmiSim } from "../lab/bmc/sims.ts";
import { needsTools } from "../lab/bmc/tools.ts";
import { connect } from "../lab/connect.ts";
import { needs } from "../lab/index.ts";
import { apiOf } from "../lab/ironic/api.ts";
import type { IronicAt } from "../lab/ironic/start.ts";
import { machinesIn } from "../support/plan-files.ts";
import { fleetOf, passwordOf } from "./fleet.ts";

/** A deployment with BMCs, extracted, and a real Ironic to load it into. */
export type Scene = Awaited<ReturnType<typeof scene>>;

interface Options {
  /** The tool reaches Ironic by its API. */
  readonly rest?: boolean;
  readonly fleet?: typeof fleetOf;
}

/**
 * Extracts, asks the BMCs and plans a fleet of so many machines, the BMCs of every second one on.
 */
export async function scene(
  t: TestContext,
  ironic: IronicAt,
  machines: number,
  { rest = false, fleet = fleetOf }: Options = {},
) {
  const tools = needsTools("ipmi_sim", "ipmitool");
  const bmcs = Array.from({ length: machines }, (_, at) => ({
    power: at % 2 === 0,
    password: passwordOf(at + 1),
  }));
  const sim = await startIpmiSim(tools.ipmi_sim, bmcs);
  t.after(sim.stop);
  const folder = privateFolder(t);
  const { db, url } = await reach(t, ironic);
  const address = join(folder, "ironic.url");
  writeFileSync(address, url, { mode: 0o600 });
  const written = await writeCase(fleet(sim), folder);
  const run = join(folder, "run");
  const target = rest ? ["--ironic-url", ironic.url] : ["--ironic-db", `file:${address}`];
  const own: { readonly [command: string]: readonly string[] } = {
    extract: written.extract,
    // As the plan will have it asked.
    power: ["--site", join(folder, "site.json"), "--ironic-release", "2023.1"],
    // Several tests share one Ironic.
    plan: [...target, ...written.plan, "--allow-other-nodes"],
  };
  return {
    ...{ ironic, sim, db },
    api: apiOf(ironic),
    /** Runs a command on the run, for a user who may do no more than the tool needs. */
    runs: (status: number, command: string, ...options: readonly string[]) =>
      runs(status, [command, "--run", run, ...(own[command] ?? target), ...options]),
    plan: () => machinesIn(run),
  };
}

async function reach(
  t: TestContext,
  { engine, database }: IronicAt,
): Promise<{ readonly db: Knex; readonly url: string }> {
  const server = await needs(engine);
  const db = connect({ ...server, database });
  t.after(() => db.destroy());
  const rights = "SELECT, INSERT, UPDATE, DELETE";
  const { url } = await server.restrictedUser("tool", database, rights);
  return { db, url };
}
