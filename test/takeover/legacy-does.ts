import type { LegacyMove } from "../../src/model/nova/legacy-move.ts";
import type { BootPlaces } from "../../src/takeover/baremetal/legacy-boots.ts";
import {
  checkAny,
  moveMachines,
  returnMachines,
  withLegacy,
} from "../../src/takeover/baremetal/legacy-moves.ts";
import { takeMachines } from "../../src/takeover/baremetal/legacy-take.ts";
import { startedMachines } from "../../src/takeover/baremetal/steps/legacy-started.ts";
import { type LegacyCloud, moveOf } from "./legacy-cloud.ts";

class Death extends Error {}

interface Dying {
  readonly point: string;
  /** What happens there, instead of a death. */
  readonly meets?: () => Promise<unknown>;
  /** Of the machines that pass it, which one. */
  readonly at: number;
}

export async function* once(moves: readonly LegacyMove[]) {
  yield moves.map((move) => ({ id: move.uuid, move, computes: [], files: null, ports: [] }));
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
  return withPlace(async (place) =>
    withLegacy(
      await runOf(name),
      place,
      [],
      { hosts: ["A", to], ...(agent && { agent }) },
      async (legacy) => {
        const { hands } = legacy;
        const dying: typeof hands = {
          ...hands,
          holding: (move, work) =>
            hands.holding(move, (between) =>
              work(async (point) => {
                if (point === dies?.point && ++passed === dies.at) {
                  if (dies.meets === undefined) throw new Death(point);
                  await dies.meets();
                }
                await between(point);
              }),
            ),
        };
        const own = { ...legacy, hands: dying };
        const left: string[] = [];
        if (!back) {
          const moved = await moveMachines(
            own,
            () => once(moves ?? ids.map((id) => moveOf(id, to))),
            () => Promise.resolve(),
            () => undefined,
          );
          checkAny(moved);
          return { done: moved.made, left: moved.left.map(({ why }) => why) };
        }
        const { back: done } = await returnMachines(
          own,
          startedMachines,
          (rows) => left.push(...rows.map(({ why }) => why)),
          () => undefined,
        );
        return { done, left };
      },
    ),
  );
}

interface Taking extends BootPlaces {
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
  { ids = [1, 2], down = 60, say = () => undefined, ...more }: Taking = {},
) {
  const nodes = ids.map((id) => moveOf(id).uuid);
  return withPlace(
    async (place) =>
      takeMachines(await runOf(name), place, { from, to, agent: to, nodes, down }, { say }),
    more,
  );
}
