import { findPlan } from "../edge/disk/plan-folder.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { inspectBack } from "../engine/back.ts";
import type { Excluded, Part } from "../engine/part.ts";
import type { PlanHeader, TargetIdentity } from "../model/artefact.ts";
import { IRONIC } from "../model/journal.ts";
import { type Step, stepsOf } from "../model/plan.ts";
import type { UndoPreview } from "../model/preview.ts";
import { batchOf, ironicPart } from "../parts/ironic.ts";
import type { Backend } from "./backend.ts";
import type { Reach } from "./flavor-api.ts";
import { checkEngine, checkIdentity } from "./ironic-place.ts";
import { openNovaPreview } from "./nova-preview.ts";
import { openPlan, sealOf } from "./run.ts";
import type { Wanted } from "./take-back.ts";

/** What of a command says how the run is read. */
interface Reading extends Reach {
  readonly keyFile?: string;
}

/**
 * What the same command line would take back, in its order: Ironic's rows, then Nova's, those of a machine
 * that stays in Ironic not. What is gone already is not told.
 *
 * @param backend null where nobody said where Ironic is: then nothing is known of its rows but the journal
 */
export async function* preview(
  wanted: Wanted,
  backend: Backend | null,
  reading: Reading,
): AsyncGenerator<UndoPreview> {
  const nova = await openNovaPreview(wanted, reading);
  try {
    const excluded = new Map(nova?.excluded);
    const kept = new Map<string, string>();
    const stays = (machine: string, why: string): void => void kept.set(machine, why);
    yield* ofIronic(wanted, { backend, keyFile: reading.keyFile, excluded, stays });
    for (const [uuid, why] of kept) excluded.set(uuid, why);
    if (nova !== null) yield* nova.rows(excluded);
  } finally {
    await nova?.close();
  }
}

interface How {
  readonly backend: Backend | null;
  readonly keyFile: string | undefined;
  readonly excluded: Excluded;
  /** Told of machines of which something stays. */
  readonly stays: (machine: string, why: string) => void;
}

async function* ofIronic(
  { run, entries, plans, scope }: Wanted,
  { backend, keyFile, excluded, stays }: How,
): AsyncGenerator<UndoPreview> {
  for (const sha256 of plans) {
    const { header, lines } = await openPlan(await findPlan(run, sha256));
    const part =
      backend === null ? unasked(header.target) : await openPart(run, backend, header, keyFile);
    const leg = { part, plan: sha256, lines, changesOf: stepsOf };
    for await (const batch of inspectBack(leg, entries, scope, excluded))
      for (const { line, change, state } of batch) {
        const { id, resource, machine } = change;
        const { is } = state;
        if (is === "after") continue;
        if (is === "other" && machine !== null && !excluded.has(machine))
          stays(machine, `in Ironic ${id} ${state.why}`);
        const waits = `${state.why}: it is waited for`;
        yield {
          action: is === "other" ? "leave" : "remove",
          ...{ resource, uuid: id.slice(id.indexOf(":") + 1), bm_node_id: line.bm_node_id },
          why: is === "before" ? null : is === "waiting" ? waits : state.why,
        };
      }
  }
}

/** Nobody said where Ironic is: nothing is known but what the journal says. */
function unasked(target: TargetIdentity): Pick<Part<Step>, "name" | "size" | "inspect"> {
  return {
    ...{ name: IRONIC, size: batchOf(target) },
    inspect: (steps) => Promise.resolve(steps.map(({ id }) => ({ id, is: "before", why: "" }))),
  };
}

/** @throws MigrationError N2I-E300 and those of opening it, as the command itself would */
async function openPart(
  run: RunFolder,
  backend: Backend,
  header: PlanHeader,
  keyFile: string | undefined,
): Promise<Part<Step>> {
  checkEngine(header.target, backend);
  const seal = await sealOf(run, keyFile, header.key);
  const { identity, target } = await backend.open(header.target.release, seal);
  checkIdentity(header.target, identity);
  return ironicPart(target);
}
