import type { NovaStep } from "../../model/nova/nova-plan.ts";
import { type SwitchedRow, serverSteps } from "../rules/server.ts";
import {
  blocked,
  next,
  REACHED,
  type SwitchAt,
  type SwitchNova,
  type SwitchPosition,
  type SwitchStep,
} from "./switch-part.ts";

const reached = () => Promise.resolve(REACHED);

/** `hold` stops Nova and tenants from acting on the server. */
export function serverStep(at: SwitchAt, step: "hold" | "rows" | "free"): SwitchStep {
  const { server } = at.plan;
  const name = `switchover-nova-${step}` as const;
  if (server === null) return { name, inspect: reached, inspectBack: reached };
  const { forth, back }: SwitchedRow = serverSteps(server)[step];
  return {
    name,
    inspect: () => rowPosition(at, [forth]),
    inspectBack: back === null ? null : () => rowPosition(at, back),
  };
}

/** @param changes the first step that matches the row is performed */
async function rowPosition(at: SwitchAt, changes: readonly NovaStep[]): Promise<SwitchPosition> {
  const nova = novaOf(at);
  const whys: string[] = [];
  for (const change of changes) {
    const { is, reason } = await nova.inspect(change);
    if (is === "after") return REACHED;
    if (is === "before") {
      const what = `the change of ${change.of} in Nova's database`;
      const write = { what, on: [at.plan.source], make: () => nova.change(change) };
      return next([write], { ...change.before });
    }
    whys.push(`${change.of} ${reason}`);
  }
  return blocked(...whys.slice(0, 1));
}

/** Nova does not offer the destination, because it is in use. */
export function placementStep(at: SwitchAt): SwitchStep {
  const { server, source, destination } = at.plan;
  return {
    name: "switchover-placement",
    async inspect() {
      if (server?.placement !== true) return REACHED;
      const { placement } = novaOf(at);
      if (placement === null) throw new Error("Placement is not open");
      const state = await placement.stateOf(server.uuid, source, destination);
      if (state === "made") return REACHED;
      if (state !== "open") return blocked(state.reason);
      const make = () => placement.move(server.uuid, source, destination);
      const what = `the move of the allocations of ${server.uuid}`;
      return next([{ what, on: [source, destination], make }], {
        ...{ consumer: server.uuid, from: source, to: destination },
      });
    },
    inspectBack: null,
  };
}

function novaOf({ nova }: SwitchAt): SwitchNova {
  if (nova === null) throw new Error("Nova's database is not open");
  return nova;
}
