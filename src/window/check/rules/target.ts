import { counted, createSeveral, duration } from "../../../lib/text.ts";
import { heal } from "../../../migrate/hosts/rules/current-placement.ts";
import { onceLoaded, slowDelete } from "../../../migrate/plan/rules/delete-cost.ts";
import type { CheckResult, CheckView, PlacementFacts } from "../../../model/check.ts";
import { type TakeOverPace, USUAL_PACE, WINDOW_PACE } from "../../../model/handover.ts";
import { index, type TextSet } from "../../../model/rows.ts";
import { forecast } from "../../report/rules/window.ts";
import {
  check,
  countOf,
  type Facts,
  fine,
  firstOf,
  isRefused,
  lower,
  OPTIONS,
  readable,
  resultOf,
  textsOf,
  unreadable,
  unseen,
  warning,
} from "./part.ts";

interface Tenant {
  readonly uuid: string;
  readonly machine: string;
}

/**
 * A check of a database that only later Novas have.
 * @param inspect receives the machines with their instances, UUIDs in lower case
 */
function checkLater<K extends "api" | "placement">(
  title: string,
  side: K,
  inspect: (facts: Facts<K>, tenants: readonly Tenant[], view: CheckView) => CheckResult,
) {
  return check(title, ["ironic", "bm"], (view) => {
    const { ironic, bm, isSkipped } = view;
    const facts: CheckView[K] = view[side];
    if (facts === null)
      return ironic.cells
        ? warning("Not checked.", `specify ${OPTIONS[side]}`)
        : fine(`Nova in ${ironic.release} does not require it.`);
    if (isRefused<object>(facts)) return unseen(OPTIONS[side]);
    const tenants = bm.nodes.flatMap(({ id, uuid, instance_uuid }) =>
      instance_uuid && !isSkipped(id) ? [{ uuid: lower(instance_uuid), machine: lower(uuid) }] : [],
    );
    // Neither null nor refused.
    const found = inspect(facts as Facts<K>, tenants, view);
    const count = countOf(bm.nodes, ({ id }) => isSkipped(id));
    return count === 0 || found.result !== "Success"
      ? found
      : fine(`${counted(count, "machine is", "machines are")} skipped by the site document.`);
  });
}

/** Nova cannot find an instance without a mapping or cell. @source facts/rehearsal.md 4 */
const mappings = checkLater("Instance mappings", "api", ({ mapped, cellless }, tenants) =>
  firstOf(
    resultOf(
      textsOf(tenants, ({ uuid }) => (mapped.has(uuid) || cellless.has(uuid) ? null : uuid)),
      "instances have no instance mapping, and can be neither stopped nor deleted",
      "nova-manage cell_v2 map_instances --cell_uuid CELL",
    ),
    // map_instances skips existing mappings.
    resultOf(
      textsOf(tenants, ({ uuid }) => (cellless.has(uuid) ? uuid : null)),
      "instance mappings have no cell, and their instances can be neither stopped nor deleted",
      "UPDATE instance_mappings SET cell_id=(SELECT id FROM cell_mappings WHERE uuid='CELL') WHERE cell_id IS NULL AND instance_uuid='INSTANCE'",
    ),
  ),
);

/** @source facts/rehearsal.md 4; facts/ironic.md 5.3 */
const allocations = checkLater("Allocations", "placement", (facts, tenants, view) => {
  const { allocated, providers } = facts;
  const { computes, classless } = view;
  if (computes === null) return unreadable("--nova-db", "compute_nodes");
  return firstOf(
    resultOf(
      textsOf(providers, ({ uuid, name }) => {
        const compute = computes.get(lower(name));
        return compute === undefined || compute === lower(uuid)
          ? null
          : `provider ${uuid} of node ${name}, whose compute node is ${compute}`;
      }),
      "providers have a uuid that differs from their compute node, and are never updated",
      "UPDATE compute_nodes SET uuid='PROVIDER' WHERE hypervisor_hostname='NODE', nova-compute stopped",
    ),
    resultOf(
      textsOf(tenants, ({ uuid, machine }) => {
        const wrong = (allocated.get(uuid) ?? []).filter(({ name }) => name !== machine);
        return wrong.length === 0
          ? null
          : `${uuid} on ${wrong.map((one) => one.name || one.uuid).join(" and ")}, its machine is ${machine}`;
      }),
      "instances with an allocation on a provider other than their machine's",
      "openstack resource provider allocation delete INSTANCE, then run check again",
    ),
    bare(tenants, facts, classless),
  );
});

/** Instances without an allocation. heal_allocations needs the flavor and a provider. */
function bare(
  tenants: readonly Tenant[],
  { allocated, providers }: PlacementFacts,
  classless: TextSet,
): CheckResult {
  const byName = index(providers, "name");
  const without = tenants.filter(({ uuid }) => allocated.get(uuid) === undefined);
  const hasNoClass = ({ uuid }: Tenant): boolean => classless.has(uuid);
  const hasNoProvider = ({ machine }: Tenant): boolean => byName(machine).length === 0;
  const texts = textsOf(without, (one) => {
    const missing = [
      ...(hasNoClass(one) ? ["its embedded flavor has no resources:CUSTOM_*"] : []),
      ...(hasNoProvider(one) ? ["its machine has no provider"] : []),
    ];
    return missing.length === 0 ? one.uuid : `${one.uuid} (${missing.join(", ")})`;
  });
  const fixes = [
    ...(without.some(hasNoProvider)
      ? ["after the machines are loaded, start nova-compute to create the providers"]
      : []),
    ...(without.some(hasNoClass)
      ? [
          "nova-manage db ironic_flavor_migration --resource_class CLASS --all (Pike 16.0.2 to Victoria), because heal_allocations uses instance_extra.flavor. If machines have several classes, use --host HOST --node NODE instead of --all. The command considers only compute nodes of the ironic driver",
        ]
      : []),
    heal(),
  ];
  return resultOf(texts, "instances without an allocation", fixes.join("; then "));
}

export const LATER = [mappings, allocations];

/**
 * Nodes belong to the run by its journal. The mark may be from another run, or written by another
 * user.
 * @source facts/systems.md D R25, D-19
 */
const owned = check("Target empty or ours", ["ironic"], ({ ironic, loadedNodes, plan }) => {
  if (ironic.nodes.length === 0) return fine("Ironic is empty.");
  const foreign = textsOf(ironic.nodes, ({ uuid, marked }) =>
    loadedNodes.has(uuid) ? null : `${uuid}${marked ? " with our mark" : ""}`,
  );
  return firstOf(
    resultOf(
      foreign,
      "nodes that this run did not load",
      "find the owner of each node. If a node has our mark, roll back the run that loaded it. To load anyway, use plan --allow-other-nodes",
      plan?.allowOtherNodes === true ? "Warning" : "Failure",
    ),
    fine(`${counted(ironic.nodes.length, "node")}, all loaded by this run.`),
  );
});

/** Before the load, the plan's ports are included in the count. */
const goingBack = check("Time of a rollback", ["ironic"], ({ ironic, plan }) => {
  const nodes = plan ? countOf(plan.machines, ({ blocked }) => !blocked) : ironic.nodes.length;
  const slow = slowDelete(nodes, onceLoaded(ironic.keys, plan?.ports ?? 0));
  return slow === null ? fine("A rollback will not be slow.") : warning(slow.what, slow.fix);
});

/** The hand-over time with the conductors' ironic.conf, and with the recommended settings. */
const handOver = check("Time of the hand-over", [], ({ bm, plan, pace }) => {
  const nodes = readable(bm)?.nodes;
  if (plan === null && nodes === undefined) return unseen("--nova-bm-db");
  const machines = plan?.takeOvers ?? countOf(nodes ?? [], ({ instance_uuid }) => instance_uuid);
  const usual = pace ?? USUAL_PACE;
  const durationText = (by: TakeOverPace): string => {
    const { seconds, source } = forecast(machines, by);
    return seconds === null ? source : `${duration(seconds)}, ${source}`;
  };
  const { seconds } = forecast(machines, usual);
  // A longer hand-over justifies two settings in ironic.conf.
  const long = seconds === null || seconds > 30 * 60;
  const tuned = durationText({ ...WINDOW_PACE, conductors: usual.conductors });
  const text = `Takeover of ${counted(machines, "machine")} in use: ${durationText(usual)}`;
  const message = `${text}${pace === null || long ? `; with the settings for the window: ${tuned}` : ""}.`;
  return long
    ? warning(
        message,
        "run nova2ironic config --ironic-conf FILE for each conductor, apply the patch and restart ironic-conductor",
      )
    : fine(message);
});

/** The finding of a machine that this Ironic cannot boot. */
const NETBOOT = "N2I-D403";

/** Ironic 21 boots from disk only, but nova-baremetal did not. @source facts/systems.md D-20 */
const netboot = check("Boot from the network", ["ironic"], (view) => {
  const { bm, ironic, plan, line, isSkipped } = view;
  if (!ironic.local) return fine(`Ironic of ${ironic.release} boots from the network.`);
  if (isRefused(bm)) return unseen("--nova-bm-db");
  const [open, accepted] = [createSeveral(), createSeveral()];
  for (const { id, uuid, instance_uuid } of bm.nodes) {
    if (!instance_uuid || isSkipped(id)) continue;
    const taken = line({ id, uuid })?.findings.get(NETBOOT);
    if (plan !== null && taken === undefined) continue;
    (taken === true ? accepted : open).add(`bm_nodes.id=${id} ${uuid}`);
  }
  const fix = `run nova2ironic explain ${NETBOOT}. Set deploy_interface: ramdisk in the site document, or install a bootloader`;
  return firstOf(
    resultOf(open, "machines that boot from the network, which this Ironic does not support", fix),
    resultOf(accepted, "machines that this Ironic cannot boot, as you accepted", fix, "Warning"),
  );
});

/** Conductors manage new rows at once. @source facts/ironic.md 1.5 */
const conductors = check("Conductors stopped or staged", ["ironic"], ({ ironic }) => {
  const alive = ironic.conductors.filter((conductor) => conductor.alive);
  const allStaged = ironic.nodes.length > 0 && ironic.nodes.every(({ staged }) => staged);
  if (alive.length > 0 && allStaged) return fine(`${alive.length} run, and every node is staged.`);
  return resultOf(
    alive.map(({ hostname }) => hostname),
    "running conductors, which would take over loaded machines",
    `systemctl stop ironic-conductor${ironic.stages ? ", or load with: nova2ironic apply --staged" : ""}`,
    ironic.stages ? "Warning" : "Failure",
  );
});

/**
 * In maintenance, Ironic reads no BMC, and Nova powers off an instance because of the recorded
 * state.
 * @source facts/rehearsal.md 3, variant C
 */
const power = check("Power state in maintenance", ["ironic"], ({ ironic }) =>
  resultOf(
    textsOf(ironic.nodes, ({ uuid, maintenance, instance_uuid, power_state }) => {
      if (!maintenance || instance_uuid === null || power_state === null) return null;
      return power_state === "power on" ? null : `${uuid} ${power_state}`;
    }),
    "machines in use and in maintenance with a recorded power state that Nova acts on",
    "UPDATE nodes SET power_state=NULL WHERE uuid='NODE' AND maintenance, before nova-compute starts",
  ),
);

export const TARGET = [netboot, owned, conductors, power, handOver, goingBack];
