import { type JsonObject, objectOf } from "../lib/json.ts";
import { inOrder } from "../lib/streams.ts";
import { serverSteps } from "./rules/server.ts";
import { SWITCH_MARK } from "./rules/switching.ts";
import { bothNodes, isFenced, reasonFor } from "./steps/switch-guard.ts";
import type { SwitchAt } from "./steps/switch-part.ts";

interface SwitchFact {
  readonly what: string;
  readonly why: string | null;
}

export async function faultsOf(at: SwitchAt): Promise<readonly SwitchFact[]> {
  const { calls, plan, recordsOf } = at;
  const volumes = (["connectors", "targets"] as const).flatMap((kind) =>
    plan[kind].map(async (uuid): Promise<SwitchFact> => {
      const owner = await calls.ownerOf(kind, uuid);
      const why =
        owner === plan.destination ? null : `it belongs to node ${owner ?? "none: it was deleted"}`;
      return { what: `volume ${kind.slice(0, -1)} ${uuid}`, why };
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
      why: unlike(destination, {
        ...{ provision_state: "active", power_state: "power on" },
        instance_uuid: plan.instance_uuid,
      }),
    },
    { what: `validation of ${plan.destination}`, why: invalid.join("; ") || null },
    {
      what: `source ${plan.source}`,
      why: unlike(source, {
        ...{ instance_uuid: null, maintenance: true, maintenance_reason: reasonFor(plan) },
        ...(!isFenced(at) && { power_state: "power off", provision_state: "available" }),
      }),
    },
    ...owned,
    {
      what: `VIFs of ${plan.destination}`,
      why: missing.length > 0 ? `without ${missing.join(", ")}` : null,
    },
    ...(await serverFacts(at)),
    ...[source, destination].map((node) => ({
      what: `mark of ${String(node.uuid)}`,
      why: objectOf(node.extra)[SWITCH_MARK] === undefined ? null : "it was not removed",
    })),
  ];
  return facts;
}

async function serverFacts({ plan, nova }: SwitchAt): Promise<readonly SwitchFact[]> {
  const { server, source, destination } = plan;
  if (server === null || nova === null) return [];
  const { is, why } = await nova.inspect(serverSteps(server).free.forth);
  const row = { what: `server ${server.uuid}`, why: is === "after" ? null : why || "task_state" };
  if (nova.placement === null) return [row];
  const stand = await nova.placement.stand(server.uuid, source, destination);
  const placed = stand === "made" ? null : stand === "open" ? `it is on ${source}` : stand.why;
  return [row, { what: `allocation of ${server.uuid}`, why: placed }];
}

function unlike(node: JsonObject, wanted: JsonObject): string | null {
  const whys = Object.entries(wanted).flatMap(([name, value]) =>
    (node[name] ?? null) === value
      ? []
      : [`${name} is ${String(node[name] ?? null)}, expected ${String(value)}`],
  );
  return whys.length === 0 ? null : whys.join("; ");
}
