import { objectOf } from "../../lib/json.ts";
import { type Finding, finding } from "../../model/findings.ts";
import { columnsOf, type HostConfig, type Machine, type Row } from "../../model/machine.ts";
import type { DriverRow, Mapping, TargetDoc } from "../../model/mapping.ts";
import type { PowerVerdict } from "../../model/power.ts";
import { addressFault } from "../power/rules/address.ts";
import { methodOf, noMethod, type PowerMethod } from "../power/rules/power-query.ts";
import { createOrigins } from "./compile.ts";
import { createNodes } from "./node.ts";
import { portsOf } from "./vif.ts";

/** The query of a machine. An empty user or password is valid, but NULL is not. */
export function methodOfMachine(
  machine: Machine,
  { credentials }: DriverRow,
  row: Row,
  keys: readonly string[],
): PowerMethod {
  const { driver = null, power_interface = null, driver_info } = row;
  const macs = portsOf(machine).map(({ address }) => String(address));
  const method = methodOf(
    { driver, power_interface, driver_info: objectOf(driver_info), macs },
    keys,
  );
  if (method.kind !== "ipmi") return method;
  const { user, password, address } = method.login;
  const present: { readonly [column: string]: boolean } = {
    pm_user: user !== "",
    pm_password: password !== null,
    pm_address: true,
  };
  const absent = credentials.filter(
    (column) => columnsOf(machine.node)[column] === null && present[column] === false,
  );
  return absent.length === 0
    ? method
    : noMethod("incomplete", `${absent.join(", ")} is missing`, address);
}

/** Finds addresses that a conductor would pass on unchanged and that match no BMC. */
export function inspectAddress({ driver_info }: Row, where: string): readonly Finding[] {
  const info = objectOf(driver_info);
  return ADDRESSES.flatMap((key) => {
    const value = info[key];
    const fault = typeof value === "string" && value !== "" ? addressFault(value) : null;
    return fault === null ? [] : [finding("N2I-D611", `${where} driver_info.${key}`, fault)];
  });
}

const ADDRESSES = ["ipmi_address", "ssh_address", "iboot_address"] as const;

/** The query of each machine before there is a plan. Null if it is not queried. */
export type MethodOf = (machine: Machine) => PowerMethod | null;

/**
 * Queries with the settings that a plan would load: same rules, same site document.
 * @param releases all releases: if this one has no driver for a machine, another one's driver is
 * used
 */
export function createMethods(
  mapping: Mapping,
  releases: readonly TargetDoc[],
  hosts: readonly HostConfig[],
  columns: { readonly [table: string]: readonly string[] },
): MethodOf {
  const { target } = mapping;
  const drivers = Object.fromEntries(
    mapping.drivers.drivers.map(({ name }) => [
      name,
      [target, ...releases].find((doc) => doc.drivers[name])?.drivers[name] ?? null,
    ]),
  );
  const nodes = createNodes(mapping, hosts, columns, createOrigins());
  const reachable = { ...mapping, target: { ...target, drivers } };
  const fallback = createNodes(reachable, hosts, columns, createOrigins());
  return (machine) => {
    const preferred = nodes.choose(machine);
    const chosen = preferred.driver === null ? fallback.choose(machine) : preferred;
    const { driver, decided, conf } = chosen;
    if (machine.node.deleted === true || decided.skip !== null) return null;
    if (driver === null) return withoutDriver(machine, conf, decided.set.power_manager);
    const { record } = nodes.make(machine, { ...chosen, driver });
    return methodOfMachine(machine, driver.row, record.row, target.power_keys);
  };
}

/** Power managers without a driver in Ironic. @source facts/nova-bm.md 3.1 */
const NO_DRIVER: { readonly [classPath: string]: PowerVerdict } = {
  tilera: "tilera",
  "nova.virt.baremetal.tilera_pdu.Pdu": "tilera",
};

function withoutDriver({ node }: Machine, conf: HostConfig | null, declared: unknown): PowerMethod {
  const manager = declared ?? conf?.power_manager;
  if (typeof manager !== "string") {
    const host = node.service_host ?? "NULL";
    const reason = conf?.power_manager_fault ?? `no nova.conf for ${host}`;
    return noMethod("other-power", `${reason}: its power manager is unknown`);
  }
  return noMethod(NO_DRIVER[manager] ?? "other-power", `${manager} has no BMC to ask`);
}
