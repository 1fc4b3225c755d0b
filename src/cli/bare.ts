import { existsSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { VERSION } from "../run/version.ts";
import { configuredRun } from "./connections.ts";
import { io } from "./io.ts";

/** At most 25 lines. */
const INTRODUCTION = `${VERSION} moves a nova-baremetal deployment to OpenStack Ironic.

Try it           nova2ironic demo
Read             extract, power, plan, check, config, show, report
Rehearse         rehearse, on restored copies of the databases
Load             apply, verify, boot, handover, finish, retire
All in order     run does the steps from extract to finish, and asks before each one that writes
Undo             rollback
Follow           status, next, window, support
Compute hosts    host list, plan, move, takeover, readmit, verify, agent, schema
Machines in use  node list, manage, unmanage, switchover
Services         serve proxy, manageable, switchover

The commands under Read write no database, only files: those of the run are in its folder (--run).
No command of the migration powers a machine.

Help     nova2ironic COMMAND --help, nova2ironic help for every command, nova2ironic explain CODE
Manual   nova2ironic help TOPIC: quickstart, night, runbook, going-back, codes, ...
`;

/** A command line without words is the status of the run in this folder; without a run, it prints what there is. */
export async function bare(): Promise<readonly string[] | null> {
  const configured = await configuredRun();
  if (configured !== null && existsSync(join(configured, "run.json"))) return ["status"];
  const run = await runHere();
  if (run !== null) return ["status", "--run", run];
  io().stdout.write(INTRODUCTION);
  return null;
}

/** The run of this folder: the folder itself, or the newest run in it; null without one. */
async function runHere(): Promise<string | null> {
  const { cwd } = io();
  const here = cwd();
  if (existsSync(join(here, "run.json"))) return ".";
  // This user may not be able to list the folder.
  const found = (await readdir(here, { withFileTypes: true }).catch(() => []))
    .filter((entry) => entry.isDirectory() && existsSync(join(here, entry.name, "run.json")))
    .map(({ name }) => ({ name, at: statSync(join(here, name)).mtimeMs }));
  return found.toSorted((one, other) => other.at - one.at)[0]?.name ?? null;
}
