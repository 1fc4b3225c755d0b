import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
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

export type Scene = Awaited<ReturnType<typeof scene>>;

/**
 * A deployment of so many machines, the BMCs of every second one on, and a real Ironic to load it into.
 *
 * @param options whether the tool reaches Ironic by its API, and another fleet
 */
export async function scene(
  t: TestContext,
  ironic: IronicAt,
  machines: number,
  { rest = false, fleet = fleetOf } = {},
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
  /** Runs a command on the run, for a user who may do no more than the tool needs. */
  const does = (status: number, command: string, ...options: readonly string[]) =>
    runs(status, [command, "--run", run, ...(own[command] ?? target), ...options]);
  return {
    ...{ ironic, sim, db, api: apiOf(ironic), runs: does, plan: () => machinesIn(run) },
    /** @param power exit status of `power`: 3 if there are machines that have no BMC to ask */
    async planned(power = 3) {
      await does(0, "extract");
      await does(power, "power", "-q");
      return does(0, "plan", "-q");
    },
  };
}

/** Loads the machines of a fleet, of which one of twenty is blocked. */
export async function loaded(at: Scene): Promise<void> {
  await at.planned();
  const blocked = at.plan().filter(({ verdict }) => verdict === "blocked");
  assert.equal(blocked.length, at.plan().length / 20);
  await at.runs(3, "apply", "--yes", "--skip-blocked");
}

async function reach(t: TestContext, { engine, database }: IronicAt) {
  const server = await needs(engine);
  const db = connect({ ...server, database });
  t.after(() => db.destroy());
  const rights = "SELECT, INSERT, UPDATE, DELETE";
  const { url } = await server.restrictedUser("tool", database, rights);
  return { db, url };
}
