import { dutyOf, type GuardedNode, guardsOf } from "../../core/handover/guards.ts";
import { readJournal } from "../../edge/disk/journal.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import { begunIn } from "../../engine/begun.ts";
import type { PlanHeader } from "../../model/artefact.ts";
import { FINISH, type Guarded } from "../../model/finish.ts";
import type { Json } from "../../model/json.ts";
import { clearedFields } from "../../parts/finish.ts";
import type { FormatOptions } from "../../report/format.ts";
import type { Backend } from "../../stages/backend.ts";
import { openGuard } from "../../stages/finishing.ts";
import { printView } from "../print/view.ts";

const COLUMNS = ["Action", "UUID", "BM ID", "Fields", "Why"];

/** Prints what the same command line would clear, and what it would leave; writes nothing. */
export async function previewFinish(
  run: RunFolder,
  backend: Backend,
  header: PlanHeader,
  nodes: AsyncIterable<readonly GuardedNode[]>,
  args: FormatOptions & { readonly undo: boolean },
): Promise<void> {
  const { guard } = await openGuard(backend, header);
  const cleared = clearedFields(begunIn((await readJournal(run)).entries, FINISH));
  const rows = async function* (): AsyncGenerator<readonly Json[]> {
    for await (const batch of nodes) {
      const seen = await guard.observe(batch.map(({ uuid }) => uuid));
      for (const node of batch) {
        const found = seen.get(node.uuid);
        const row = args.undo
          ? undoRow(node, cleared.get(node.uuid), found)
          : clearRow(node, found);
        if (row !== null) yield row;
      }
    }
  };
  await printView({ columns: COLUMNS, rows: rows() }, args);
}

function clearRow(node: GuardedNode, found: Guarded | undefined): readonly Json[] | null {
  const { uuid, bm_node_id } = node;
  const duty = dutyOf(node, found);
  switch (duty.do) {
    case "clear":
      return ["clear", uuid, bm_node_id, Object.keys(duty.change).join(" "), busy(found)];
    case "staged":
      return ["leave", uuid, bm_node_id, "", "still staged: hand it over first"];
    case "nothing":
      return duty.why === null ? null : ["keep", uuid, bm_node_id, "protected", duty.why];
    case "gone":
      return node.optional === true ? null : ["miss", uuid, bm_node_id, "", "not in Ironic"];
  }
}

function undoRow(
  node: GuardedNode,
  cleared: ReadonlySet<string> | undefined,
  found: Guarded | undefined,
): readonly Json[] | null {
  if (cleared === undefined || found === undefined) return null;
  const fields = Object.keys(guardsOf(node, cleared)).join(" ");
  return ["protect", node.uuid, node.bm_node_id, fields, busy(found)];
}

function busy(found: Guarded | undefined): string {
  const holder = found?.reservation ?? null;
  return holder === null ? "" : `${holder} is working on it: it is waited for`;
}
