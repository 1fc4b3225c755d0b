import { isObject, type Json, objectOf } from "../../../lib/json.ts";
import { type FindingCode, finding } from "../../../model/findings.ts";
import { carriedFields, minorOf, type RestDoc } from "../../../model/ironic/rest.ts";
import { isNothing } from "../../../model/ironic/service-fields.ts";
import type { Row } from "../../../model/machine.ts";
import type { TargetDoc } from "../../../model/mapping.ts";
import { type Desired, nodeOf } from "../../../model/plan.ts";
import { type Transformed, withAccepted } from "../../transform/transform.ts";

type Noted = readonly [code: FindingCode, message: string];

/**
 * The part of a machine's records that adoption over REST supports, with findings about other values.
 * The returned records are rows as the API shows them, as plan, diff and verify need.
 * @param origin number of origins in the plan's table without these
 * @source facts/ironic.md 4
 */
export function carry(doc: RestDoc, target: TargetDoc, origin: number) {
  const minor = minorOf(target.api ?? "1.0");
  const fields = {
    node: carriedFields(doc, "node", minor),
    port: carriedFields(doc, "port", minor),
  };
  const carried = (machine: Transformed): Transformed => {
    if (machine.desired.length === 0) return machine;
    const notes: Noted[] = [];
    const lost: string[] = [];
    const desired = machine.desired.map((record): Desired => {
      const { resource } = record;
      const row: Record<string, Json> = {};
      for (const [field, value] of Object.entries(record.row))
        if (fields[resource].has(field)) row[field] = value;
        else if (!isNothing(value) && doc.silent[field] === undefined)
          lost.push(resource === "node" ? field : `port ${field}`);
      if (resource === "node") carryNode(row, doc, target, notes, lost);
      else if (carryPort(row, doc, minor, notes))
        return { ...record, row, origins: [...record.origins, origin, origin + 1] };
      return { ...record, row };
    });
    noteMissing(desired, target, notes);
    if (lost.length > 0) notes.push(["N2I-D750", [...new Set(lost)].join(", ")]);
    const location = desired[0]?.id ?? "";
    const found = notes.map(([code, message]) => finding(code, location, message));
    return withAccepted({ ...machine, desired }, found);
  };
  /** Other fields for VIFs, with their origin, to add to the plan's table. */
  const origins = ["extra.vif_port_id", "extra.nova_bm.vif_port_id"].map(
    (field) => [field, "port.vif"] as const,
  );
  return { machine: carried, origins };
}

function carryNode(
  row: Record<string, Json>,
  doc: RestDoc,
  target: TargetDoc,
  notes: Noted[],
  lost: string[],
): void {
  const planned = String(row.provision_state);
  const minor = minorOf(target.api ?? "1.0");
  const goal = doc.goals[planned] ?? "manageable";
  const reached = goal === "available" && minor < doc.provide ? "manageable" : goal;
  if (reached !== planned)
    notes.push(["N2I-D753", `${JSON.stringify(planned)} is planned, but it will be ${reached}`]);
  row.provision_state = reached;
  // The service reads power_state from the machine, and would never replace our value.
  row.power_state = null;
  // Only the service writes last_error.
  if (row.last_error !== null) lost.push("last_error");
  row.last_error = null;
  const info = row.driver_internal_info ?? null;
  for (const key of isObject(info) ? Object.keys(info) : [])
    if (doc.silent[`driver_internal_info.${key}`] === undefined)
      lost.push(`driver_internal_info.${key}`);
  row.driver_internal_info = {};
  if (row.maintenance !== true)
    notes.push(["N2I-D751", "the state read at `manage` is kept from then on"]);
  if (reached !== "active") return;
  if (row.protected === true)
    notes.push(["N2I-D752", "the machine is not protected until it is active"]);
  if (target.boot === "netboot" || target.boot === "edit")
    notes.push(["N2I-D755", `${target.release} boots it from the network`]);
  else if (target.boot === "local" && row.deploy_interface === "ramdisk")
    notes.push(["N2I-D755", "the ramdisk interface boots it from the network: nova2ironic boot"]);
}

/** Missing values with which the adoption of a machine would fail. */
function noteMissing(
  desired: readonly Desired[],
  { adoption, keys }: TargetDoc,
  notes: Noted[],
): void {
  const node = nodeOf(desired);
  if (adoption === "none" || node?.provision_state !== "active" || !bootsOver(node)) return;
  const info = objectOf(node.driver_info);
  const missing = ["deploy_kernel", "deploy_ramdisk"]
    .map((key) => keys[key] ?? key)
    .filter((key) => (info[key] ?? "") === "");
  const code = adoption === "deploy-images" ? "N2I-D757" : "N2I-D758";
  if (missing.length > 0) notes.push([code, `without driver_info ${missing.join(", ")}`]);
  if (!desired.some(({ resource }) => resource === "port"))
    notes.push(["N2I-D759", "it has no port"]);
}

/** Whether the node has a network boot interface. Classic drivers contain one. */
function bootsOver({ boot_interface, driver }: Row): boolean {
  return typeof boot_interface === "string"
    ? /pxe/.test(boot_interface)
    : driver === "fake_pxe" || !/^fake/.test(String(driver));
}

/** @returns whether the port has a VIF, now in another field */
function carryPort(
  row: Record<string, Json>,
  doc: RestDoc,
  minor: number,
  notes: Noted[],
): boolean {
  const { tenant_vif_port_id: vif = null, ...rest } = objectOf(row.internal_info);
  if (vif === null) return false;
  row.internal_info = rest;
  const extra = objectOf(row.extra);
  if (minor <= doc.vif_in_extra_until) row.extra = { ...extra, vif_port_id: vif };
  else {
    row.extra = { ...extra, nova_bm: { ...objectOf(extra.nova_bm), vif_port_id: vif } };
    notes.push(["N2I-D754", `port ${String(row.uuid)}: VIF ${String(vif)}`]);
  }
  return true;
}
