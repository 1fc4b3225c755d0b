import type { CheckView, IronicFacts, Looked } from "../../model/check.ts";
import { fine, isRefused, lower, told, unseen } from "./look.ts";

/** @source facts/systems.md D R25, D-19 */
export function owned({ bm, ironic }: CheckView): Looked {
  if (isRefused(ironic)) return unseen("--ironic-db");
  if (ironic.nodes.length === 0) return fine("Ironic is empty.");
  if (isRefused(bm)) return unseen("--nova-bm-db");
  const machines = new Set(bm.nodes.map(({ uuid }) => lower(uuid)));
  const foreign = ironic.nodes.filter(({ uuid, marked }) => !marked || !machines.has(lower(uuid)));
  const found = told(
    foreign.map(({ uuid }) => uuid),
    "nodes this tool did not load from here",
    "openstack baremetal node delete NODE, or let them be: plan refuses what collides with them",
    "Warning",
  );
  return found.result === "Success"
    ? fine(`${ironic.nodes.length} nodes, all loaded from here.`)
    : found;
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
