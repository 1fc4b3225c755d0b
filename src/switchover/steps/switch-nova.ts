import { MigrationError } from "../../lib/error.ts";
import { rowsPart } from "../../migrate/apply/nova.ts";
import type { NovaStep, RowState } from "../../model/nova/nova-plan.ts";
import { type SwitchedRow, serverSteps } from "../rules/server.ts";
import {
  next,
  REACHED,
  type SwitchAt,
  type SwitchNova,
  type SwitchPosition,
  type SwitchStep,
  stays,
} from "./switch-part.ts";

type Target = Parameters<typeof rowsPart>[0];

/** Server rows, changed by the part for moves between compute hosts, one transaction per row. */
export function novaRows(target: Target): Pick<SwitchNova, "inspect" | "change"> {
  const part = rowsPart(target);
  return {
    async inspect(change) {
      const [state] = await part.inspect([change]);
      // The part returns a state for each change.
      return state as RowState;
    },
    async change(change) {
      try {
        await part.perform([change], {
          ...{ owned: () => false, ended: () => false },
          ...{ precondition: () => Promise.resolve(), observed: () => Promise.resolve() },
        });
        return null;
      } catch (cause) {
        if (!(cause instanceof MigrationError) || cause.code !== "N2I-E300") throw cause;
        return cause.message;
      }
    },
  };
}

/** `hold` stops Nova and tenants from acting on the server. */
export function serverStep(at: SwitchAt, step: "hold" | "rows" | "free"): SwitchStep {
  const { server } = at.plan;
  const name = `switchover-nova-${step}` as const;
  if (server === null)
    return { name, look: () => Promise.resolve(REACHED), lookBack: () => Promise.resolve(REACHED) };
  const { forth, back }: SwitchedRow = serverSteps(server)[step];
  return {
    name,
    look: () => stands(at, [forth]),
    lookBack: back === null ? null : () => stands(at, back),
  };
}

/** @param ways the first one that matches the row is made */
async function stands(at: SwitchAt, ways: readonly NovaStep[]): Promise<SwitchPosition> {
  const nova = novaOf(at);
  const whys: string[] = [];
  for (const change of ways) {
    const { is, why } = await nova.inspect(change);
    if (is === "after") return REACHED;
    if (is === "before") {
      const what = `the change of ${change.of} in Nova's database`;
      const write = { what, on: [at.plan.source], make: () => nova.change(change) };
      return next([write], { ...change.before });
    }
    whys.push(`${change.of} ${why}`);
  }
  return stays(...whys.slice(0, 1));
}

/** Nova offers the destination to no one, because it is in use. */
export function placementStep(at: SwitchAt): SwitchStep {
  const { server, source, destination } = at.plan;
  return {
    name: "switchover-placement",
    async look() {
      if (server?.placement !== true) return REACHED;
      const { placement } = novaOf(at);
      if (placement === null) throw new Error("Placement is not open");
      const stand = await placement.stand(server.uuid, source, destination);
      if (stand === "made") return REACHED;
      if (stand !== "open") return stays(stand.why);
      const make = () => placement.move(server.uuid, source, destination);
      const what = `the move of the allocations of ${server.uuid}`;
      return next([{ what, on: [source, destination], make }], {
        ...{ consumer: server.uuid, from: source, to: destination },
      });
    },
    lookBack: null,
  };
}

function novaOf({ nova }: SwitchAt): SwitchNova {
  if (nova === null) throw new Error("Nova's database is not open");
  return nova;
}
