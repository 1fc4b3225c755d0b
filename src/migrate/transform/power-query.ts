import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import { type Finding, finding } from "../../model/findings.ts";
import {
  columnsOf,
  type HostConfig,
  type Machine,
  type Row,
  type VirtualPower,
} from "../../model/machine.ts";
import type { DriverRow, Mapping, TargetDoc } from "../../model/mapping.ts";
import { type PowerLevel, type PowerVerdict, queryDigest } from "../../model/power.ts";
import { isSealed, type Sealed } from "../../model/secret.ts";
import { addressFault } from "../power/rules/address.ts";
import { createOrigins } from "./compile.ts";
import { createNodes } from "./node.ts";
import { portsOf } from "./tenant.ts";

/** The query of a machine. An empty user or password is valid, but NULL is not. */
export function methodOfMachine(
  machine: Machine,
  { credentials }: DriverRow,
  row: Row,
  keys: readonly string[],
): PowerMethod {
  const macs = portsOf(machine).map(({ address }) => address);
  const method = methodOf(row, macs, keys);
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
  return ["ipmi_address", "ssh_address", "iboot_address"].flatMap((key) => {
    const value = info[key];
    const fault = typeof value === "string" && value !== "" ? addressFault(value) : null;
    return fault === null ? [] : [finding("N2I-D611", `${where} driver_info.${key}`, fault)];
  });
}

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

/** A power manager without a driver in Ironic. @source facts/nova-bm.md 3.1 */
function withoutDriver({ node }: Machine, conf: HostConfig | null, declared: unknown): PowerMethod {
  const manager = declared ?? conf?.power_manager;
  if (typeof manager === "string") {
    const isTilera = /^(tilera|nova\.virt\.baremetal\.tilera_pdu\.Pdu)$/.test(manager);
    return noMethod(isTilera ? "tilera" : "other-power", `${manager} has no BMC to ask`);
  }
  const reason = conf?.power_manager_fault ?? `no nova.conf for ${node.service_host ?? "NULL"}`;
  return noMethod("other-power", `${reason}: its power manager is unknown`);
}

export type Secret = Sealed | string;

/** How a machine's power is read, always from its driver_info. */
export type PowerMethod = (
  | {
      readonly kind: "ipmi";
      readonly login: {
        readonly address: string;
        readonly port: number;
        readonly user: string;
        readonly password: Secret | null;
        /** Hex. */
        readonly kg: Secret | null;
        /** Null: the conductor's ipmitool chooses. */
        readonly suite: number | null;
        readonly level: PowerLevel;
      };
    }
  | { readonly kind: "virtual"; readonly host: VirtualPower; readonly macs: readonly string[] }
  /** No query is possible. The verdict gives the reason. */
  | {
      readonly kind: "none";
      readonly verdict: PowerVerdict;
      readonly detail: string;
      readonly address: string;
    }
) & {
  /** The query without secrets. */
  readonly query: string;
  /** A digest of the query with secrets. */
  readonly digest: string;
};

/** Keys of ipmitool drivers that some releases do not read. */
const BY_RELEASE: readonly string[] = [
  ...["ipmi_priv_level", "ipmi_protocol_version", "ipmi_port"],
  ...["ipmi_hex_kg_key", "ipmi_cipher_suite"],
];

/** The safe suites that both ipmitool and our client support. */
const SUITES = [1, 2, 3, 15, 16, 17];

/**
 * The query of a machine, only from its planned driver and driver_info, so that the result applies
 * to a conductor.
 * @param macs of its ports, which identify virtual machines
 * @param keys driver_info keys of the release that not every release has
 * @source ironic setup.cfg, 2014.2 to 2026.1
 */
export function methodOf(
  { driver = null, power_interface, driver_info }: Row,
  macs: readonly string[],
  keys: readonly string[],
): PowerMethod {
  const isRead = (key: string): boolean => !BY_RELEASE.includes(key) || keys.includes(key);
  const info = Object.fromEntries(
    Object.entries(objectOf(driver_info)).filter(([key]) => isRead(key)),
  );
  const name = String(power_interface ?? driver);
  // The protocol of each of Ironic's drivers.
  if (/ipmi|pyghmi/.test(name)) return ipmiMethod(info);
  if (/(^|_)ssh$/.test(name)) return virtualMethod(info, macs);
  const none = `${String(driver)} has no BMC to ask`;
  if (name.includes("iboot")) return noMethod("iboot", none, text(info.iboot_address));
  if (name.startsWith("fake")) return noMethod("fake", none);
  return noMethod("other-power", `this tool cannot ask as driver ${String(driver)} does`);
}

/** A machine that cannot be queried, with the reason. */
function noMethod(verdict: PowerVerdict, detail: string, address = ""): PowerMethod {
  const query = `no BMC (${verdict}: ${detail})`;
  return { kind: "none", verdict, detail, address, query, digest: queryDigest(query, []) };
}

function ipmiMethod(info: JsonObject): PowerMethod {
  const address = text(info.ipmi_address);
  const cannot = (detail: string): PowerMethod => noMethod("incomplete", detail, address);
  if (address === "") return cannot("driver_info.ipmi_address is missing");
  const fault = addressFault(address);
  if (fault !== null) return cannot(`driver_info.ipmi_address ${fault}`);
  const port = numberOf(info.ipmi_port, 623);
  if (port === null || port < 1 || port > 65_535) return cannot("driver_info.ipmi_port is no port");
  const suite = numberOf(info.ipmi_cipher_suite, -1);
  if (suite === null || (suite !== -1 && !SUITES.includes(suite)))
    return cannot("driver_info.ipmi_cipher_suite must be 3 or 17");
  const level = text(info.ipmi_priv_level).toUpperCase() || "ADMINISTRATOR";
  if (level !== "ADMINISTRATOR" && level !== "OPERATOR")
    return cannot("driver_info.ipmi_priv_level must be at least OPERATOR for power control");
  if (!["", "2.0"].includes(text(info.ipmi_protocol_version)))
    return cannot("driver_info.ipmi_protocol_version is not 2.0, the only supported version");
  if (!["", "no"].includes(text(info.ipmi_bridging)))
    return cannot("driver_info.ipmi_bridging is not supported");
  const kg = secretOf(info.ipmi_hex_kg_key);
  const [user, password] = [text(info.ipmi_username), secretOf(info.ipmi_password)];
  const query = [
    `${address} port ${port} as ${JSON.stringify(user)} at ${level}`,
    ...(suite === -1 ? [] : [`suite ${suite}`]),
    ...(kg === null ? [] : ["with a Kg"]),
  ].join(", ");
  return {
    kind: "ipmi",
    login: { address, port, user, password, kg, suite: suite === -1 ? null : suite, level },
    ...{ query, digest: queryDigest(query, [password, kg]) },
  };
}

const BY_PASSWORD =
  "the host of the virtual machine is configured with a password, but power uses ssh only with a key: set virtual_power_host_key instead of virtual_power_host_pass in nova.conf and run extract again, or check the machine and accept the finding";

function virtualMethod(info: JsonObject, macs: readonly string[]): PowerMethod {
  const address = text(info.ssh_address);
  if (address === "") return noMethod("virtual", "driver_info.ssh_address is missing");
  const fault = addressFault(address);
  if (fault !== null) return noMethod("incomplete", `driver_info.ssh_address ${fault}`, address);
  if (info.ssh_key_contents !== undefined)
    return noMethod("incomplete", "driver_info.ssh_key_contents is not supported", address);
  const host: VirtualPower = {
    virtual_power_ssh_host: address,
    virtual_power_ssh_port: numberOf(info.ssh_port, 22) ?? Number.NaN,
    virtual_power_type: text(info.ssh_virt_type),
    virtual_power_host_user: text(info.ssh_username) || null,
    virtual_power_host_key: text(info.ssh_key_filename) || null,
  };
  if (host.virtual_power_host_key === null && secretOf(info.ssh_password) !== null)
    return noMethod("virtual", BY_PASSWORD, address);
  const query = `the virtual machine on ${host.virtual_power_type} host ${address} port ${host.virtual_power_ssh_port} as ${JSON.stringify(host.virtual_power_host_user)}${host.virtual_power_host_key === null ? "" : ` with ${host.virtual_power_host_key}`}`;
  const digest = queryDigest(query, macs);
  return { kind: "virtual", host, macs, query, digest };
}

function text(value: Json | undefined): string {
  return value === undefined || value === null || typeof value === "object" ? "" : String(value);
}

function numberOf(value: Json | undefined, otherwise: number): number | null {
  const digits = text(value);
  if (digits === "") return otherwise;
  return /^\d{1,6}$/.test(digits) ? Number(digits) : null;
}

function secretOf(value: Json | undefined): Secret | null {
  if (isSealed(value)) return value;
  return text(value) || null;
}
