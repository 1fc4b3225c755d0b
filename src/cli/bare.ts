import { existsSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError } from "../lib/error.ts";
import { nextCommand } from "../run/next.ts";
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

The commands under Read do not write to any database, only to the run's folder (--run).
No migration command powers a machine on or off.

Help     nova2ironic COMMAND --help, nova2ironic help for every command, nova2ironic explain CODE
Manual   nova2ironic help TOPIC: quickstart, night, runbook, going-back, codes, ...
`;

/** Without arguments: `status` of the run in this folder, otherwise the introduction. */
export async function bare(): Promise<readonly string[] | null> {
  const configured = await configuredRun();
  if (configured !== null && existsSync(join(configured, "run.json"))) return ["status"];
  const { cwd, stdout, stderr } = io();
  const { kindOf } = await import("../run/files/run-kind.ts");
  const ignored: string[] = [];
  for (const run of await runsIn(cwd())) {
    const cause: unknown = await kindOf({ path: join(cwd(), run) }).then(
      () => null,
      (error) => error,
    );
    if (cause === null) return ["status", "--run", run];
    if (!(cause instanceof MigrationError)) throw cause;
    const restore = nextCommand("status", { run });
    ignored.push(
      `Ignored: ${cause.message} (${cause.code}). If it is a run, ${restore} shows how to restore it.\n`,
    );
  }
  stdout.write(INTRODUCTION);
  stderr.write(ignored.join(""));
  return null;
}

/** The folder itself if it is a run, otherwise the runs in it, newest first. */
async function runsIn(here: string): Promise<readonly string[]> {
  if (existsSync(join(here, "run.json"))) return ["."];
  // The user may not be allowed to list the folder.
  const found = (await readdir(here, { withFileTypes: true }).catch(() => []))
    .filter((entry) => entry.isDirectory() && existsSync(join(here, entry.name, "run.json")))
    .map(({ name }) => ({ name, at: statSync(join(here, name)).mtimeMs }));
  return found.toSorted((one, other) => other.at - one.at).map(({ name }) => name);
}
