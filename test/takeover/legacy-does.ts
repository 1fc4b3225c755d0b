import assert from "node:assert/strict";
import { once } from "../../src/lib/streams.ts";
import type { LegacyMove } from "../../src/model/nova/legacy-move.ts";
import { checkAny, runMachines, withLegacy } from "../../src/takeover/baremetal/legacy-moves.ts";
import { takeMachines } from "../../src/takeover/baremetal/legacy-take.ts";
import { movedMachines } from "../../src/takeover/baremetal/steps/legacy-started.ts";
import type { HostOptions } from "../../src/takeover/target.ts";
import { type LegacyCloud, moveOf } from "./legacy-cloud.ts";

class Death extends Error {}

interface Dying {
  readonly point: string;
  /** What happens there, instead of a death. */
  readonly meets?: () => Promise<unknown>;
  /** Of the machines that pass it, which one. */
  readonly at: number;
}

interface Doing {
  readonly ids?: readonly number[];
  readonly to?: string;
  /** Instead of those of the cloud's own. */
  readonly moves?: readonly LegacyMove[];
  readonly back?: boolean;
  readonly dies?: Dying;
  readonly agent?: string;
}

/** Moves machines, or gives them back, in a run of this name; a death leaves its locks where they are. */
export async function does(
  { withPlace, runOf }: Pick<LegacyCloud, "withPlace" | "runOf">,
  name: string,
  { ids = [1, 2, 3], to = "B", moves, back = false, dies, agent }: Doing = {},
) {
  let passed = 0;
  const passes = async (point: string): Promise<void> => {
    if (dies === undefined || point !== dies.point || ++passed !== dies.at) return;
    if (dies.meets === undefined) throw new Death(point);
    await dies.meets();
  };
  return withPlace(async (place) => {
    const how = { hosts: ["A", to], ...(agent && { agent }) };
    return withLegacy(await runOf(name), place, [], how, async (deps) => {
      const withLock: typeof deps.withLock = (move, work) =>
        deps.withLock(move, (between) =>
          work(async (point) => {
            await passes(point);
            await between(point);
          }),
        );
      const planned = (moves ?? ids.map((id) => moveOf(id, to))).map((move) => ({
        ...{ id: move.uuid, move, computes: [], files: null, ports: [] },
      }));
      const machines = back ? movedMachines(deps.session.journal.entries()) : planned;
      const own = { ...deps, withLock };
      const moved = await runMachines(own, back ? "back" : "forward", once(machines));
      if (!back) checkAny(moved);
      const left = moved.skipped.map(({ reason: why }) => why);
      return { done: moved.made + (back ? moved.found : 0), left };
    });
  });
}

export const NOTHING = (): void => undefined;

interface Taking extends HostOptions {
  readonly ids?: readonly number[];
  /** Seconds. */
  readonly down?: number;
  readonly say?: (text: string) => void;
}

/** What an agent does once it has fenced a host. */
export function takes(
  { withPlace, runOf }: LegacyCloud,
  name: string,
  from: string,
  to: string,
  { ids = [1, 2], down = 60, say = NOTHING, ...more }: Taking = {},
) {
  const asked = { from, to, agent: to, nodes: ids.map((id) => moveOf(id).uuid), down };
  return withPlace(
    async (place) => takeMachines(await runOf(name), place, asked, { report: say }),
    more,
  );
}

/** Its first machine, over which its taker dies. */
export async function dies(cloud: LegacyCloud, name: string, point: string): Promise<void> {
  await assert.rejects(does(cloud, name, { ids: [1], dies: { point, at: 1 } }), /legacy\./);
}
