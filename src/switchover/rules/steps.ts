import type { Json } from "../../lib/json.ts";
import { counted } from "../../lib/text.ts";
import type { NodeDetail } from "../../model/switchover.ts";
import type { Switchover } from "./switching.ts";

type Row = readonly [step: string, call: string, before: string, after: string];

export function stepRows(
  plan: Switchover,
  source: NodeDetail,
  destination: NodeDetail,
): readonly Row[] {
  const [from, to] = [source.name ?? source.uuid, destination.name ?? destination.uuid];
  const nova = serverRows(plan, from, to);
  const volumes = `${counted(plan.connectors.length, "connector")}, ${counted(plan.targets.length, "target")}`;
  return [
    ["CHECKED", "PATCH both nodes: extra.nova2ironic_switchover", "not marked", plan.id],
    [
      "DST_MANAGEABLE",
      readyCalls(destination) || "none",
      `${stateText(destination.body.provision_state)}, ${stateText(destination.body.power_state)}`,
      "manageable, power off",
    ],
    ...nova.hold,
    [
      "SRC_OFF",
      `PUT soft power off of ${from}; power off if that fails`,
      stateText(source.body.power_state),
      "power off, read twice",
    ],
    [
      "SRC_MAINT",
      `PUT maintenance of ${from}`,
      source.body.maintenance === true ? "in maintenance" : "in service",
      "in maintenance",
    ],
    ["UNLINKED", `PATCH ${from}: instance_uuid`, plan.instance_uuid, "none"],
    ["VOLUMES", `PATCH node_uuid of ${volumes}`, from, to],
    ["VIFS", "DELETE and POST vifs, one by one", from, to],
    [
      "DST_INFO",
      `PATCH ${to}: description, owner, lessee, network_data, extra, instance_info${plan.failed_name === null ? "" : "; names"}`,
      `${from}, ${to}`,
      plan.failed_name === null ? "names stay" : `${plan.failed_name}, ${from}`,
    ],
    ...nova.rows,
    [
      "DST_CLAIMED",
      `PATCH ${to}: automated_clean, instance_uuid`,
      "no instance",
      plan.instance_uuid,
    ],
    [
      "DST_ACTIVE",
      `PUT provision provide, active of ${to}: no image. No rollback after this step`,
      "manageable",
      "active, power on",
    ],
    ...(typeof source.body.allocation_uuid === "string"
      ? [["ALLOCATION", `POST allocation of ${to}`, from, to] as const]
      : []),
    ...nova.free,
    [
      "SRC_CLEARED",
      `PATCH ${from}: automated_clean; PUT provision deleted`,
      "active",
      "available, in maintenance",
    ],
    ["DONE", "PATCH both nodes: automated_clean as it was", plan.id, "not marked"],
  ];
}

/** Changes in Nova and Placement; empty if the plan does not change Nova's rows. */
function serverRows(
  { server }: Switchover,
  from: string,
  to: string,
): { readonly [part in "hold" | "rows" | "free"]: readonly Row[] } {
  if (server === null) return { hold: [], rows: [], free: [] };
  const update = (columns: string): string => `UPDATE instances id ${server.id}: ${columns}`;
  const [is, will] = [server.from, server.to].map((location) => Object.values(location).join(", "));
  const placed: Row = ["PLACEMENT", `PUT allocations of ${server.uuid}`, from, to];
  return {
    hold: [["NOVA_HELD", update("task_state"), "NULL", "migrating"]],
    rows: [["NOVA_MOVED", update(Object.keys(server.to).join(", ")), is ?? "", will ?? ""]],
    free: [
      ...(server.placement ? [placed] : []),
      ["NOVA_FREED", update("task_state"), "migrating", "NULL"],
    ],
  };
}

function readyCalls({ body: { provision_state, power_state } }: NodeDetail): string {
  return [
    ...(provision_state === "enroll" ? ["PUT provision manage"] : []),
    ...(power_state === "power off" ? [] : ["PUT power off"]),
  ].join("; ");
}

function stateText(value: Json | undefined): string {
  return typeof value === "string" ? value : "none";
}

/** Statements for the operator, if the instance is a Nova server. */
export function novaCommands(plan: Switchover): readonly string[] {
  const { instance_uuid: instance, destination, source } = plan;
  return [
    `Nova still has server ${instance} on node ${source}. While no nova-compute acts on the server, run:`,
    `  UPDATE instances SET node = '${destination}' WHERE uuid = '${instance}' AND node = '${source}' AND task_state IS NULL AND deleted = 0;`,
    `  In the same statement, set host if ${destination} has a different nova-compute, and compute_id if the column exists.`,
    `  openstack resource provider allocation show ${instance}`,
    `  openstack resource provider allocation set ${instance} --allocation rp=${destination},CUSTOM_CLASS=1`,
  ];
}
