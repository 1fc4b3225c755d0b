import { checkAll, statusOfChecks } from "../../core/check/checks.ts";
import { MigrationError } from "../../model/error.ts";
import { checksJson, checksTable } from "../../report/checks.ts";
import { gather } from "../../stages/check.ts";
import { runAt } from "../../stages/check-run.ts";
import type { RestOptions } from "../../stages/cloud.ts";
import { io } from "../io.ts";
import type { CheckArgs } from "../options/check.ts";
import { exitWith, say } from "./shared.ts";

/** Seconds a look at heartbeats may take. */
const LONGEST = 3600;

export async function checkCommand(args: CheckArgs): Promise<void> {
  const { place, run } = await runAt(args.run);
  if (run === null)
    say(args, `${args.run} is no run's folder yet: what needs a plan is not looked at.`);
  const { novaBmDb, novaDb, ironicDb, ironicRelease: release, allowPairing, watch } = args;
  if (watch > LONGEST)
    throw new MigrationError("N2I-E100", `--watch wants at most ${LONGEST} seconds`);
  if (novaDb !== undefined && watch > 0) say(args, `Watching heartbeats for ${watch} s.`);
  const { novaApiDb, placementDb, helperHost: helperHosts = [] } = args;
  const view = await gather(
    {
      ...{ novaBmDb, novaDb, ironicDb, release, allowPairing, watch },
      ...{ novaApiDb, placementDb, helperHosts },
      ...{ glance: args.glance, cloud: cloudWords(args) },
    },
    place,
    run,
  );
  const rows = checkAll(view);
  io().stdout.write(args.json ? checksJson(rows) : checksTable(rows));
  exitWith(statusOfChecks(rows));
}

function cloudWords({ osCloud, osCacert, insecure }: CheckArgs): RestOptions {
  return {
    ...(osCloud !== undefined && { osCloud }),
    ...(osCacert !== undefined && { osCacert }),
    ...(insecure !== undefined && { insecure }),
  };
}
