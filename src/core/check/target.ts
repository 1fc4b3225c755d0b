import type { IronicFacts } from "../../model/check.ts";
import { lentIndexes, onceLoaded, slowDelete } from "../plan/delete-cost.ts";
import { fine, isRefused, lower, needing, resultOf, unseen, warning } from "./look.ts";

/**
 * A node is ours when the run's journal says so. The mark alone says that this tool loaded it, by
 * another run perhaps, and anybody can write one.
 *
 * @source facts/systems.md D R25, D-19
 */
export const owned = needing(["ironic"], ({ ironic, ours, plan }) => {
  if (ironic.nodes.length === 0) return fine("Ironic is empty.");
  const others = ironic.nodes.filter(({ uuid }) => !ours.has(lower(uuid)));
  return others.length === 0
    ? fine(`${ironic.nodes.length} nodes, all loaded by this run.`)
    : resultOf(
        others.map(({ uuid, marked }) => `${uuid}${marked ? " with our mark" : ""}`),
        "nodes this run did not load, by its journal",
        "look whose they are; for one with our mark, rollback of the run that loaded it; to load beside them, plan --beside-others",
        plan?.besideOthers === true ? "Warning" : "Failure",
      );
});

/** Before the load its ports are the plan's. */
export const goingBack = needing(["ironic"], ({ ironic, plan }) => {
  const nodes = plan?.machines.filter(({ blocked }) => !blocked).length ?? ironic.nodes.length;
  const keys = onceLoaded(ironic.keys, plan?.ports ?? 0);
  const slow = slowDelete(nodes, keys);
  if (slow !== null) return warning(slow.what, slow.fix);
  return fine(lentIndexes(nodes, keys) ?? "Nothing slows it down.");
});

/** The finding of a machine that this Ironic cannot boot; explain has what to do. */
const NETBOOT = "N2I-D403";

/** Ironic 21 and later boot from disk only, nova-baremetal's tenants from the network. @source facts/systems.md D-20 */
export const netboot = needing(["ironic"], ({ bm, ironic, plan }) => {
  if (!ironic.local) return fine(`Ironic of ${ironic.release} boots from the network.`);
  if (isRefused(bm)) return unseen("--nova-bm-db");
  const lines = new Map(plan?.machines.map((line) => [lower(line.uuid), line.findings]));
  const tenants = bm.nodes.filter(({ id, uuid, instance_uuid }) => {
    if (!instance_uuid || plan?.skipped.has(id)) return false;
    return plan === null || lines.get(lower(uuid))?.has(NETBOOT) === true;
  });
  const open = tenants.filter(({ uuid }) => lines.get(lower(uuid))?.get(NETBOOT) !== true);
  return resultOf(
    (open.length > 0 ? open : tenants).map(({ id, uuid }) => `bm_nodes.id=${id} ${uuid}`),
    open.length > 0
      ? "machines that boot from the network, which this Ironic cannot"
      : "machines that this Ironic cannot boot, as you accepted",
    `nova2ironic explain ${NETBOOT}; deploy_interface: ramdisk in the site document, or a bootloader`,
    open.length > 0 ? "Failure" : "Warning",
  );
});

/** Rows are in reach of a conductor from the moment they are there. @source facts/ironic.md 1.5 */
export const conductors = needing(["ironic"], ({ ironic }) => {
  const alive = ironic.conductors.filter((conductor) => conductor.alive);
  if (alive.length > 0 && isHeld(ironic)) return fine(`${alive.length} run; every node is staged.`);
  return resultOf(
    alive.map(({ hostname }) => hostname),
    "conductors run, and would take over what is loaded",
    ironic.stages
      ? "systemctl stop ironic-conductor, or load with: nova2ironic apply --staged"
      : "systemctl stop ironic-conductor",
    ironic.stages ? "Warning" : "Failure",
  );
});

function isHeld({ nodes }: IronicFacts): boolean {
  return nodes.length > 0 && nodes.every(({ staged }) => staged);
}

/**
 * In maintenance Ironic asks no BMC, Nova believes what is recorded, and switches the tenant off.
 *
 * @source facts/rehearsal.md 3, variant C
 */
export const power = needing(["ironic"], ({ ironic }) => {
  return resultOf(
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
});
