import type { BmFacts, CheckResult, CheckView, IronicFacts, PlanFacts } from "../../model/check.ts";
import { fine, isRefused, joined, lower, machinesBy, needing, resultOf, unseen } from "./look.ts";

type Line = PlanFacts["machines"][number];

/** Findings by which a machine loses its instance: nova has it on another one, or deleted it. */
const BARE = ["N2I-D103", "N2I-D202"];

/** The finding for which the plan loads a machine without the instance it has; null: there is none. */
function bareBy(line: Line | undefined): string | null {
  if (line === undefined || line.blocked || line.instance_uuid !== null) return null;
  return BARE.find((code) => line.findings.has(code)) ?? null;
}

/**
 * What nova_bm says of each machine's instance, the plan and Ironic say too, and what they say
 * nova_bm and nova do: the third side beside nova_bm and nova, looked at from each.
 *
 * @source facts/rehearsal.md 3: a node without its instance is a machine nobody stops
 */
export const loaded = needing(["bm"], (view) => {
  const { bm, ironic, plan } = view;
  const planned = new Map(plan?.machines.map((line) => [lower(line.uuid), line]));
  const nodes = new Map(
    isRefused(ironic) ? [] : ironic.nodes.map((node) => [lower(node.uuid), node] as const),
  );
  const apart = bm.nodes.flatMap(({ id, uuid, instance_uuid }) => {
    const line = planned.get(lower(uuid));
    const node = nodes.get(lower(uuid));
    const bare = bareBy(line);
    const has = bare === null ? `has ${instance_uuid ?? "none"}` : `loads without any (${bare})`;
    const said = (place: string, found: string | null): readonly string[] =>
      lower(found) === (bare === null ? lower(instance_uuid) : "")
        ? []
        : [`bm_nodes.id=${id} ${has}, ${found ?? "none"} in ${place}`];
    const missing =
      plan !== null && line === undefined && instance_uuid && !plan.skipped.has(id)
        ? [`bm_nodes.id=${id} has ${instance_uuid}, and is not in the plan`]
        : [];
    return [
      ...missing,
      ...(line === undefined || line.blocked ? [] : said("the plan", line.instance_uuid)),
      ...(node === undefined ? [] : said("Ironic", node.instance_uuid)),
    ];
  });
  return joined([
    resultOf(
      [...apart, ...strangers(view, bm)],
      "machines whose instance is another one elsewhere",
      "nova2ironic extract and plan again; for a node that is loaded, rollback it first",
    ),
    resultOf(
      bm.nodes.flatMap(({ id, uuid, instance_uuid }) => {
        const code = bareBy(planned.get(lower(uuid)));
        return code === null ? [] : [`bm_nodes.id=${id} ${lower(instance_uuid)} (${code})`];
      }),
      "machines are loaded without the instance nova_bm has on them",
      "nova2ironic explain the finding named; rows Duplicate and Deleted instances say what fixes it",
      "Warning",
    ),
    isRefused(ironic) ? unseen("--ironic-db") : counted(view, bm, ironic.nodes),
  ]);
});

/** What is as it should be, in figures. */
function counted({ plan }: CheckView, bm: BmFacts, nodes: IronicFacts["nodes"]): CheckResult {
  const tenants = bm.nodes.filter(({ instance_uuid }) => instance_uuid).length;
  const there = nodes.filter(({ instance_uuid }) => instance_uuid).length;
  if (plan === null) return fine(`${tenants} in nova_bm, ${there} in Ironic.`);
  const kept = plan.machines.filter((line) => !line.blocked && line.instance_uuid).length;
  const skipped = bm.nodes.filter((node) => node.instance_uuid && plan.skipped.has(node.id)).length;
  const left = skipped === 0 ? "" : `, ${skipped} skipped by the site document`;
  return fine(`${tenants} in nova_bm, ${kept} in the plan${left}, ${there} in Ironic.`);
}

/** What the plan and Ironic have of machines and instances that nova_bm or nova has no more. */
function strangers({ ironic, nova, plan, ours }: CheckView, bm: BmFacts): readonly string[] {
  const machines = new Map(bm.nodes.map(({ id, uuid }) => [lower(uuid), id]));
  const claims = machinesBy(bm, "instance_uuid");
  const live = new Set(
    nova === null || isRefused(nova)
      ? []
      : nova.instances.filter(({ deleted }) => !deleted).map(({ uuid }) => lower(uuid)),
  );
  const known = nova !== null && !isRefused(nova);
  const kept = new Set(
    (plan?.machines ?? []).flatMap(({ uuid, findings }) =>
      findings.get("N2I-D201") === true ? [lower(uuid)] : [],
    ),
  );
  const nodes = isRefused(ironic) ? [] : ironic.nodes;
  return [
    ...(plan?.machines ?? [])
      .filter(({ uuid, blocked }) => !blocked && !machines.has(lower(uuid)))
      .map(({ uuid }) => `node ${uuid} is planned, and no more in nova_bm`),
    ...nodes.flatMap(({ uuid, instance_uuid }) => {
      const instance = lower(instance_uuid);
      const claimed = claims.get(instance) ?? [];
      const own = machines.get(lower(uuid));
      if (claimed.length > 0 && (own === undefined || !claimed.includes(own)))
        return [
          `bm_nodes.id=${claimed.join(" and ")} has ${instance}, and so has node ${uuid} in Ironic`,
        ];
      // What others loaded is theirs.
      if (!ours.has(lower(uuid))) return [];
      if (own === undefined) return [`node ${uuid} is ours in Ironic, and no more in nova_bm`];
      return instance !== "" && known && !live.has(instance) && !kept.has(lower(uuid))
        ? [`node ${uuid} has ${instance} in Ironic, which nova has no more`]
        : [];
    }),
  ];
}
