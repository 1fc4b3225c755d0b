import type { BmFacts, CheckView, IronicFacts, Looked } from "../../model/check.ts";
import { fine, isRefused, lower, told, unseen } from "./look.ts";

/**
 * A node is ours when the run's journal says so. The mark alone says that this tool loaded it, by
 * another run perhaps, and anybody can write one.
 *
 * @source facts/systems.md D R25, D-19
 */
export function owned({ ironic, ours, plan }: CheckView): Looked {
  if (isRefused(ironic)) return unseen("--ironic-db");
  if (ironic.nodes.length === 0) return fine("Ironic is empty.");
  const foreign = ironic.nodes.filter(({ uuid }) => !ours.has(lower(uuid)));
  return foreign.length === 0
    ? fine(`${ironic.nodes.length} nodes, all loaded by this run.`)
    : told(
        foreign.map(({ uuid, marked }) => `${uuid}${marked ? " with our mark" : ""}`),
        "nodes this run did not load, by its journal",
        "look whose they are; for one with our mark, rollback of the run that loaded it; to load beside them, plan --beside-others",
        plan?.besideOthers === true ? "Warning" : "Failure",
      );
}

/**
 * What nova_bm says of each machine's instance, the plan and Ironic say too, and what they say
 * nova_bm and nova do: the third side beside nova_bm and nova, looked at from each.
 *
 * @source facts/rehearsal.md 3: a node without its instance is a machine nobody stops
 */
export function loaded(view: CheckView): Looked {
  const { bm, ironic, plan } = view;
  if (isRefused(bm)) return unseen("--nova-bm-db");
  const planned = new Map(plan?.machines.map((line) => [lower(line.uuid), line]));
  const nodes = new Map(
    isRefused(ironic) ? [] : ironic.nodes.map((node) => [lower(node.uuid), node] as const),
  );
  const apart = bm.nodes.flatMap(({ id, uuid, instance_uuid }) => {
    const wanted = lower(instance_uuid);
    const line = planned.get(lower(uuid));
    const node = nodes.get(lower(uuid));
    // One that is deleted in Nova is loaded without its instance.
    const bare = line?.findings.get("N2I-D202") === true;
    const said = (place: string, found: string | null): readonly string[] =>
      lower(found) === wanted || (bare && found === null)
        ? []
        : [`bm_nodes.id=${id} has ${instance_uuid ?? "none"}, ${found ?? "none"} in ${place}`];
    const missing =
      plan !== null && line === undefined && wanted !== "" && !plan.skipped.has(id)
        ? [`bm_nodes.id=${id} has ${instance_uuid}, and is not in the plan`]
        : [];
    return [
      ...missing,
      ...(line === undefined || line.blocked ? [] : said("the plan", line.instance_uuid)),
      ...(node === undefined ? [] : said("Ironic", node.instance_uuid)),
    ];
  });
  const found = told(
    [...apart, ...strangers(view, bm)],
    "machines whose instance is another one elsewhere",
    "nova2ironic extract and plan again; for a node that is loaded, rollback it first",
  );
  if (found.result !== "Success") return found;
  if (plan === null)
    return {
      result: "Warning",
      details: "The run has no plan to compare with.\nMend: nova2ironic extract, then plan",
    };
  const tenants = bm.nodes.filter(({ instance_uuid }) => instance_uuid).length;
  const there = [...nodes.values()].filter(({ instance_uuid }) => instance_uuid).length;
  const kept = plan.machines.filter((line) => !line.blocked && line.instance_uuid).length;
  return fine(`${tenants} in nova_bm, ${kept} in the plan, ${there} in Ironic.`);
}

/** What the plan and Ironic have of machines and instances that nova_bm or nova has no more. */
function strangers({ ironic, nova, plan, ours }: CheckView, bm: BmFacts): readonly string[] {
  const machines = new Set(bm.nodes.map(({ uuid }) => lower(uuid)));
  const claims = new Map(
    bm.nodes.flatMap(({ id, uuid, instance_uuid }) =>
      instance_uuid ? [[lower(instance_uuid), { id, uuid: lower(uuid) }] as const] : [],
    ),
  );
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
      const claim = claims.get(instance);
      if (claim !== undefined && claim.uuid !== lower(uuid))
        return [`bm_nodes.id=${claim.id} has ${instance}, and so has node ${uuid} in Ironic`];
      // What others loaded is theirs.
      if (!ours.has(lower(uuid))) return [];
      if (!machines.has(lower(uuid)))
        return [`node ${uuid} is ours in Ironic, and no more in nova_bm`];
      return instance !== "" && known && !live.has(instance) && !kept.has(lower(uuid))
        ? [`node ${uuid} has ${instance} in Ironic, which nova has no more`]
        : [];
    }),
  ];
}

/** The finding of a machine that this Ironic cannot boot; explain has what to do. */
const NETBOOT = "N2I-D403";

/** Ironic 21 and later boot from disk only, nova-baremetal's tenants from the network. @source facts/systems.md D-20 */
export function netboot({ bm, ironic, plan }: CheckView): Looked {
  if (isRefused(ironic)) return unseen("--ironic-db");
  if (!ironic.local) return fine(`Ironic of ${ironic.release} boots from the network.`);
  if (isRefused(bm)) return unseen("--nova-bm-db");
  const lines = new Map(plan?.machines.map((line) => [lower(line.uuid), line.findings]));
  const tenants = bm.nodes.filter(({ id, uuid, instance_uuid }) => {
    if (!instance_uuid || plan?.skipped.has(id)) return false;
    return plan === null || lines.get(lower(uuid))?.has(NETBOOT) === true;
  });
  const open = tenants.filter(({ uuid }) => lines.get(lower(uuid))?.get(NETBOOT) !== true);
  return told(
    (open.length > 0 ? open : tenants).map(({ id, uuid }) => `bm_nodes.id=${id} ${uuid}`),
    open.length > 0
      ? "machines that boot from the network, which this Ironic cannot"
      : "machines that this Ironic cannot boot, as you accepted",
    `nova2ironic explain ${NETBOOT}; deploy_interface: ramdisk in the site document, or a bootloader`,
    open.length > 0 ? "Failure" : "Warning",
  );
}

/** Rows are in reach of a conductor from the moment they are there. @source facts/ironic.md 1.5 */
export function conductors({ ironic }: CheckView): Looked {
  if (isRefused(ironic)) return unseen("--ironic-db");
  const alive = ironic.conductors.filter((conductor) => conductor.alive);
  if (alive.length > 0 && isHeld(ironic)) return fine(`${alive.length} run; every node is staged.`);
  return told(
    alive.map(({ hostname }) => hostname),
    "conductors run, and would take over what is loaded",
    ironic.stages
      ? "systemctl stop ironic-conductor, or load with: nova2ironic apply --staged"
      : "systemctl stop ironic-conductor",
    ironic.stages ? "Warning" : "Failure",
  );
}

function isHeld({ nodes }: IronicFacts): boolean {
  return nodes.length > 0 && nodes.every(({ staged }) => staged);
}

/**
 * In maintenance Ironic asks no BMC, Nova believes what is recorded, and switches the tenant off.
 *
 * @source facts/rehearsal.md 3, variant C
 */
export function power({ ironic }: CheckView): Looked {
  if (isRefused(ironic)) return unseen("--ironic-db");
  return told(
    ironic.nodes
      .filter(
        ({ maintenance, instance_uuid, power_state }) =>
          maintenance &&
          instance_uuid !== null &&
          power_state !== null &&
          power_state !== "power on",
      )
      .map(({ uuid, power_state }) => `${uuid} ${power_state}`),
    "machines in use and in maintenance with a recorded power state nova would act on",
    "UPDATE nodes SET power_state=NULL WHERE uuid='NODE' AND maintenance, before nova-compute starts",
  );
}
