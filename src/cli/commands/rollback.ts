import { EXIT_STATUS } from "../../lib/exit-status.ts";
import { previewUnmanage, rollbackManaged } from "../../manage/manage-back.ts";
import { managesNodes } from "../../manage/manage-run.ts";
import { previewRollback, rollback } from "../../migrate/rollback/rollback.ts";
import { openRun, type RunFolder } from "../../run/files/run-folder.ts";
import { movesHosts, movesLegacy } from "../../run/host-files.ts";
import { previewSwitchBack, rollbackSwitchover } from "../../switchover/switchover-back.ts";
import { switchesOver } from "../../switchover/switchover-run.ts";
import { previewLegacyBack, rollbackLegacy } from "../../takeover/baremetal/legacy-back.ts";
import { previewHostsBack, rollbackHosts } from "../../takeover/host-back.ts";
import { HOSTS_BACK } from "../options/host/actions.ts";
import { NOVA_BM } from "../options/host/leases.ts";
import type { RollbackArgs } from "../options/rollback.ts";
import { printView } from "../print/out.ts";
import { EVERY } from "../views/every-row.ts";
import { gatherLeft } from "../views/left.ts";
import { watchingOf } from "./node/nova-options.ts";
import { notOption, onlyOptions } from "./said.ts";
import { exitWith, printResult, sinkOf } from "./shared.ts";

/** How a run is taken back that carries no machine over to Ironic; null for one that does. */
async function otherKind(run: RunFolder) {
  if (await movesLegacy(run)) {
    onlyOptions("rollback of a run between hosts", { ...HOSTS_BACK, ...NOVA_BM });
    return { preview: previewLegacyBack, back: rollbackLegacy };
  }
  if (await movesHosts(run)) {
    onlyOptions("rollback of a run between hosts", HOSTS_BACK);
    return { preview: previewHostsBack, back: rollbackHosts };
  }
  notOption("rollback of this run", "nova-bm-db");
  if (await switchesOver(run)) return { preview: previewSwitchBack, back: rollbackSwitchover };
  notOption("rollback of this run", "fence-command");
  if (await managesNodes(run)) return { preview: previewUnmanage, back: rollbackManaged };
  return null;
}

/** What is to be said besides of a rollback that leaves nothing untold. */
const NOTHING = { notes: [], untold: false };

export async function rollbackCommand(args: RollbackArgs): Promise<void> {
  const how = { ...args, every: EVERY.rollback(args) };
  const sink = sinkOf(how);
  const watching = watchingOf(args, sink.say);
  const other = await otherKind(await openRun(args.run, { create: false }));
  if (args.plan) return (other?.preview ?? previewRollback)(args, sink);
  const left = gatherLeft(args);
  const work =
    other === null
      ? rollback(args, watching, sink, left.add)
      : other.back(args, sink, left.add).then((ended) => (ended === true ? NOTHING : null));
  const ended = await work.catch(async (cause: unknown) => {
    // What is known by then is said all the same.
    if (left.any()) await printView(left.view(), how);
    throw cause;
  });
  await printView(left.view(), how);
  if (ended === null) return;
  for (const note of ended.notes) printResult(args, note);
  if (left.any() || ended.untold) exitWith(EXIT_STATUS.differs.status);
}
