import { objectOf } from "../../lib/json.ts";
import { show } from "../../lib/text.ts";
import { type Finding, type FindingCode, finding, findingIf } from "../../model/findings.ts";
import { columnsOf, type HostConfig, type Machine, type Row } from "../../model/machine.ts";
import type { DriverRow, Mapping } from "../../model/mapping.ts";
import { powerAddress } from "../power/rules/address.ts";
import { isPort } from "./convert.ts";
import { meetsRequirements } from "./hardware.ts";

/** The settings of a machine's compute host: its own file, or the one for all. */
export function hostOf(machine: Machine, hosts: readonly HostConfig[]): HostConfig | null {
  const { service_host } = machine.node;
  return (
    hosts.find(({ host }) => host === service_host) ??
    hosts.find(({ host }) => host === "*") ??
    null
  );
}

/**
 * The driver table row of a machine. The site document may select another power manager or driver.
 * A driver without a row needs driver_info from the site document.
 * @source facts/nova-bm.md 3.1; facts/ironic.md 3.1
 */
export function driverOf(
  machine: Machine,
  conf: HostConfig | null,
  site: { readonly [key: string]: unknown },
  { drivers, hardware, target }: Mapping,
): { readonly row: DriverRow | null; readonly findings: readonly Finding[] } {
  const { id, service_host, instance_uuid } = machine.node;
  const location = `bm_nodes.id=${id} service_host`;
  const refused = (code: FindingCode, reason: string) => ({
    row: null,
    findings: [finding(code, location, reason)],
  });
  const forHost = `for host ${service_host ?? "NULL"}`;
  const fallback = drivers.drivers.find(({ power_manager }) => power_manager === null) ?? null;
  const manager = site.power_manager ?? conf?.power_manager ?? null;
  const fault = conf?.power_manager_fault ?? null;
  // Ironic cannot boot a Tilera instance with any driver. @source facts/nova-bm.md 3.5
  const isLost = conf?.driver === "nova.virt.baremetal.tilera.Tilera" && !!instance_uuid;
  const isOther = conf !== null && conf.driver !== drivers.deploy_driver;
  if (isOther && (site.driver === undefined || isLost)) {
    const refusals = drivers.deploy_drivers_refused;
    const reason = Object.hasOwn(refusals, conf.driver) ? refusals[conf.driver] : undefined;
    return refused("N2I-D308", reason ?? `driver is ${conf.driver || "empty"}, ${forHost}`);
  }
  const row = drivers.drivers.find(
    ({ name, power_manager }) =>
      power_manager !== null && (power_manager === manager || name === manager),
  );
  const usual = row === undefined ? null : target.drivers[row.name];
  if (row !== undefined && usual) {
    // Another driver with the same driver_info (agent_ipmitool, intel-ipmi), or with its own.
    const isSuitable =
      typeof site.driver !== "string" ||
      site.driver === usual.driver ||
      meetsRequirements(row, site.driver, hardware);
    const isGuessed = fault !== null && (site.power_manager ?? site.driver) === undefined;
    const findings = findingIf(isGuessed, "N2I-D314", location, `${fault}, ${forHost}`);
    return { row: isSuitable ? row : fallback, findings };
  }
  if (site.driver !== undefined) return { row: fallback, findings: NONE };
  if (row !== undefined)
    return refused(
      "N2I-D302",
      row.refused ?? `${String(manager)} has no driver in ${target.release}`,
    );
  if (manager !== null)
    return refused("N2I-D301", `power_manager is ${show(String(manager))}, ${forHost}`);
  return fault === null
    ? refused("N2I-D300", `no nova.conf ${forHost}`)
    : refused("N2I-D301", `${fault}, ${forHost}`);
}

const NONE: readonly Finding[] = [];

/** Finds values that nova-baremetal would have refused. */
export function inspectPower({ node }: Machine, row: DriverRow): readonly Finding[] {
  const location = `bm_nodes.id=${node.id}`;
  const values = columnsOf(node);
  const absent = row.credentials.filter((column) => values[column] === null);
  const { terminal_port: port } = node;
  const isUnusual =
    port !== null &&
    Number(port) !== 0 &&
    !isPort(port) &&
    row.rules.some(({ from }) => [from].flat().includes("bm_nodes.terminal_port"));
  const none = `NULL, and ${row.name} needs them`;
  const is = `terminal_port is ${show(String(port))}`;
  return [
    ...findingIf(isUnusual, "N2I-D124", `${location} terminal_port`, is),
    ...findingIf(absent.length > 0, "N2I-D304", `${location} ${absent.join(", ")}`, none),
  ];
}

/**
 * Whether the nova.conf for a machine's host is from another host.
 * @source facts/nova-bm.md 3.4: bm_nodes.service_host is the host's [DEFAULT] host
 */
export function inspectHost({ node }: Machine, conf: HostConfig | null): readonly Finding[] {
  if (conf === null || conf.own_host === null || node.service_host === null) return NONE;
  const expected = conf.host === "*" ? node.service_host : conf.host;
  const location = `bm_nodes.id=${node.id} service_host`;
  const text = `[DEFAULT] host is ${conf.own_host} in the nova.conf for ${expected ?? "NULL"}`;
  return findingIf(conf.own_host !== expected, "N2I-D311", location, text);
}

/**
 * Finds a BMC, outlet or console port of an earlier machine. Ports were unique per compute host,
 * but one conductor now has all of them.
 * @param claims bm_nodes.id of the first machine, by BMC, outlet or port
 */
export function inspectShared(
  { driver_info }: Row,
  id: number,
  claims: Map<string, number>,
): readonly Finding[] {
  const info = objectOf(driver_info);
  const firstWith = (claim: string | null): number => {
    if (claim === null) return id;
    const first = claims.get(claim) ?? id;
    claims.set(claim, first);
    return first;
  };
  const port = Number(info.ipmi_terminal_port ?? 0);
  const power = firstWith(powerAddress(info));
  const console = firstWith(port === 0 ? null : `${port}`);
  const where = `bm_nodes.id=${id}`;
  const same = `the same BMC or outlet as bm_nodes.id=${power}`;
  const also = `${port} is also the port of bm_nodes.id=${console}`;
  return [
    ...findingIf(power !== id, "N2I-D305", `${where} driver_info`, same),
    ...findingIf(console !== id, "N2I-D128", `${where} terminal_port`, also),
  ];
}

/** A driver may need exactly one of several values, after rules and site document are applied. */
export function inspectLogin(
  { one_of = [] }: DriverRow,
  { driver_info }: Row,
  id: number,
): readonly Finding[] {
  if (one_of.length === 0) return NONE;
  const info = objectOf(driver_info);
  const used = one_of.filter((key) => info[key]);
  const nothing = `no value for driver_info.${one_of.join(" or ")}`;
  const several = `driver_info has ${used.join(" and ")}, but the driver accepts only one of them`;
  const where = `bm_nodes.id=${id}`;
  return [
    ...findingIf(used.length === 0, "N2I-D400", where, nothing),
    ...findingIf(used.length > 1, "N2I-D303", where, several),
  ];
}
