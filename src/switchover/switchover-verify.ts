import { type JsonObject, objectOf } from "../lib/json.ts";
import { inOrder } from "../lib/streams.ts";
import { serverSteps } from "./rules/server.ts";
import { SWITCH_MARK } from "./rules/switching.ts";
import { bothNodes, isFenced, reasonFor } from "./steps/switch-guard.ts";
import type { SwitchAt } from "./steps/switch-part.ts";

interface SwitchFact {
  readonly what: string;
  readonly fault: string | null;
}

export async function faultsOf(at: SwitchAt): Promise<readonly SwitchFact[]> {
  const { calls, plan, recordsOf } = at;
  const volumes = (["connectors", "targets"] as const).flatMap((kind) =>
    plan[kind].map(async (uuid): Promise<SwitchFact> => {
      const owner = await calls.ownerOf(kind, uuid);
      const fault =
        owner === plan.destination ? null : `it belongs to node ${owner ?? "none: it was deleted"}`;
      return { what: `volume ${kind.slice(0, -1)} ${uuid}`, fault };
    }),
  );
  const [[source, destination], attached, invalid, owned] = await inOrder([
    bothNodes(at),
    calls.vifs(plan.destination),
    calls.invalid(plan.destination),
    inOrder(volumes),
  ]);
  const vifs = recordsOf("switchover-vifs")[0]?.vifs;
  const missing = (Array.isArray(vifs) ? vifs.map(String) : []).filter(
    (vif) => !attached.includes(vif),
  );
  const facts: readonly SwitchFact[] = [
    {
      what: `destination ${plan.destination}`,
      fault: unlike(destination, {
        ...{ provision_state: "active", power_state: "power on" },
        instance_uuid: plan.instance_uuid,
      }),
    },
    { what: `validation of ${plan.destination}`, fault: invalid.join("; ") || null },
    {
      what: `source ${plan.source}`,
      fault: unlike(source, {
        ...{ instance_uuid: null, maintenance: true, maintenance_reason: reasonFor(plan) },
        ...(!isFenced(at) && { power_state: "power off", provision_state: "available" }),
      }),
    },
    ...owned,
    {
      what: `VIFs of ${plan.destination}`,
      fault: missing.length > 0 ? `without ${missing.join(", ")}` : null,
    },
    ...(await serverFacts(at)),
    ...[source, destination].map((node) => ({
      what: `mark of ${String(node.uuid)}`,
      fault: objectOf(node.extra)[SWITCH_MARK] === undefined ? null : "it was not removed",
    })),
  ];
  return facts;
}

async function serverFacts({ plan, nova }: SwitchAt): Promise<readonly SwitchFact[]> {
  const { server, source, destination } = plan;
  if (server === null || nova === null) return [];
  const { is, reason } = await nova.inspect(serverSteps(server).free.forth);
  const row = {
    what: `server ${server.uuid}`,
    fault: is === "after" ? null : reason || "task_state",
  };
  if (nova.placement === null) return [row];
  const state = await nova.placement.stateOf(server.uuid, source, destination);
  const placed = state === "made" ? null : state === "open" ? `it is on ${source}` : state.reason;
  return [row, { what: `allocation of ${server.uuid}`, fault: placed }];
}

function unlike(node: JsonObject, expected: JsonObject): string | null {
  const whys = Object.entries(expected).flatMap(([name, value]) =>
    (node[name] ?? null) === value
      ? []
      : [`${name} is ${String(node[name] ?? null)}, expected ${String(value)}`],
  );
  return whys.length === 0 ? null : whys.join("; ");
}
