import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { VERSION } from "../run/version.ts";
import { io } from "./io.ts";

/** At most 25 lines. */
const INTRODUCTION = `${VERSION} moves a nova-baremetal deployment to OpenStack Ironic.

Try it           nova2ironic demo
Read             extract, power, plan, check, config, rehearse, show, report
Load             apply, verify, boot, handover, finish, retire
                 run does all of these in order, and asks before each one that writes
Undo             rollback
Follow           status, next, window, support
Compute hosts    host list, plan, move, takeover, readmit, verify, agent, schema
Machines in use  node list, manage, unmanage, switchover
Services         serve proxy, manageable, switchover

The commands under Read write only to the folder of the run (--run). No command of the migration powers a machine.

Help     nova2ironic COMMAND --help, nova2ironic help for every command, nova2ironic explain CODE
Manual   nova2ironic help TOPIC: quickstart, night, runbook, going-back, codes, ...
`;

/** A command line without words is the status of the run in this folder; without a run, it prints what there is. */
export function bare(): readonly string[] | null {
  const run = runHere();
  if (run !== null) return ["status", "--run", run];
  io().stdout.write(INTRODUCTION);
  return null;
}

/** The run of this folder: the folder itself, or the newest run in it; null without one. */
function runHere(): string | null {
  const { cwd } = io();
  const here = cwd();
  if (existsSync(join(here, "run.json"))) return ".";
  const found = readdirSync(here, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(here, entry.name, "run.json")))
    .map(({ name }) => ({ name, at: statSync(join(here, name)).mtimeMs }));
  return found.toSorted((one, other) => other.at - one.at)[0]?.name ?? null;
}
