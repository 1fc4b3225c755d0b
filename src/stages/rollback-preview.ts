import { findPlan } from "../edge/disk/archive.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { inspectBack } from "../engine/back.ts";
import type { Excluded, Part } from "../engine/part.ts";
import type { PlanHeader, TargetIdentity } from "../model/artefact.ts";
import { type Entry, IRONIC } from "../model/journal.ts";
import type { Json } from "../model/json.ts";
import { type Step, stepsOf } from "../model/plan.ts";
import { batchOf, ironicPart } from "../parts/ironic.ts";
import type { Backend } from "./backend.ts";
import { costOfDelete } from "./cost.ts";
import type { Reach } from "./flavor-api.ts";
import { checkEngine, checkIdentity } from "./ironic-place.ts";
import { novaExcluded, novaPreview } from "./nova-preview.ts";
import type { Wanted } from "./rollback.ts";
import { openPlan, sealOf } from "./run.ts";

/** What of a command says how the run is read. */
interface Reading extends Reach {
  readonly keyFile?: string;
}

/** Rows of a preview, and what deleting will cost, known once they were all read. */
export interface Preview {
  readonly rows: AsyncIterable<readonly Json[]>;
  readonly cost: () => Promise<string | null>;
}

/**
 * What the same command line would take back, in its order: Ironic's rows, then Nova's, those of a machine
 * that stays in Ironic not. What is gone already is not told. A row: what becomes of it, its resource, its
 * uuid, bm_nodes.id, and why.
 *
 * @param backend null where nobody said where Ironic is: then nothing is known of its rows but the journal
 */
export function preview(
  run: RunFolder,
  backend: Backend | null,
  wanted: Wanted,
  entries: readonly Entry[],
  reading: Reading,
): Preview {
  const { nova } = wanted;
  let nodes = 0;
  const rows = async function* (): AsyncGenerator<readonly Json[]> {
    const excluded = new Map(nova === null ? [] : await novaExcluded(run, reading, nova));
    const kept = new Map<string, string>();
    const job = { run, backend, keyFile: reading.keyFile, excluded, kept };
    for await (const row of ofIronic(job, wanted, entries)) {
      if (row[0] === "remove" && row[1] === "node") nodes += 1;
      yield row;
    }
    for (const [uuid, why] of kept) excluded.set(uuid, why);
    if (nova !== null) yield* novaPreview(run, reading, nova, excluded);
  };
  return {
    rows: rows(),
    cost: async () =>
      nodes === 0 ? null : costOfDelete(nodes, (await backend?.scanned?.()) ?? []),
  };
}

interface Job {
  readonly run: RunFolder;
  readonly backend: Backend | null;
  readonly keyFile: string | undefined;
  readonly excluded: Excluded;
  /** Told of machines of which something stays, and why. */
  readonly kept: Map<string, string>;
}

async function* ofIronic(
  { run, backend, keyFile, excluded, kept }: Job,
  { plans, scope }: Wanted,
  entries: readonly Entry[],
): AsyncGenerator<readonly Json[]> {
  for (const sha256 of plans) {
    const { header, lines } = await openPlan(await findPlan(run, sha256));
    const part =
      backend === null ? unasked(header.target) : await openPart(run, backend, header, keyFile);
    const leg = { part, plan: sha256, lines, changesOf: stepsOf };
    for await (const batch of inspectBack(leg, entries, scope, excluded))
      for (const { line, change, state } of batch) {
        const { id, resource, machine } = change;
        const { is, why } = state;
        if (is === "after") continue;
        if (is === "other" && machine !== null && !excluded.has(machine))
          kept.set(machine, `in Ironic ${id} ${why}`);
        const said = is === "before" ? null : is === "waiting" ? `${why}: it is waited for` : why;
        const action = is === "other" ? "leave" : "remove";
        yield [action, resource, id.slice(id.indexOf(":") + 1), line.bm_node_id, said];
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
