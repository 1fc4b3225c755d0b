import type { Json, JsonObject } from "../../../lib/json.ts";
import type { VirtualPower } from "../../../model/machine.ts";
import { type PowerLevel, type PowerVerdict, queryDigest } from "../../../model/power.ts";
import { isSealed, type Sealed } from "../../../model/secret.ts";
import { addressFault } from "./address.ts";

/** The planned settings with which a conductor reaches the machine's power. */
interface PowerSettings {
  readonly driver: Json;
  readonly power_interface: Json;
  readonly driver_info: JsonObject;
  /** MACs of its ports, which identify virtual machines. */
  readonly macs: readonly string[];
}

export type Secret = Sealed | string;

interface IpmiLogin {
  readonly address: string;
  readonly port: number;
  readonly user: string;
  readonly password: Secret | null;
  /** Hex. */
  readonly kg: Secret | null;
  /** Null: the conductor's ipmitool chooses. */
  readonly suite: number | null;
  readonly level: PowerLevel;
}

/** How a machine's power is read, always from its driver_info. */
export type PowerMethod = (
  | { readonly kind: "ipmi"; readonly login: IpmiLogin }
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
const IPMI_PORT = 623;

/**
 * The query of a machine, only from its planned driver and driver_info, so that the result applies
 * to a conductor.
 * @param keys driver_info keys of the release that not every release has
 * @source ironic setup.cfg, 2014.2 to 2026.1
 */
export function methodOf(planned: PowerSettings, keys: readonly string[]): PowerMethod {
  const info = Object.fromEntries(
    Object.entries(planned.driver_info).filter(
      ([key]) => !BY_RELEASE.includes(key) || keys.includes(key),
    ),
  );
  const driver = String(planned.driver);
  const name = String(planned.power_interface ?? planned.driver);
  // The protocol of each of Ironic's drivers.
  if (/ipmi|pyghmi/.test(name)) return ipmiMethod(info);
  if (/(^|_)ssh$/.test(name)) return virtualMethod(info, planned.macs);
  const none = `${driver} has no BMC to ask`;
  if (name.includes("iboot")) return noMethod("iboot", none, text(info.iboot_address));
  if (name.startsWith("fake")) return noMethod("fake", none);
  return noMethod("other-power", `this tool cannot ask as driver ${driver} does`);
}

/** A machine that cannot be queried, with the reason. */
export function noMethod(verdict: PowerVerdict, detail: string, address = ""): PowerMethod {
  const query = `no BMC (${verdict}: ${detail})`;
  return { kind: "none", verdict, detail, address, query, digest: queryDigest(query, []) };
}

function ipmiMethod(info: JsonObject): PowerMethod {
  const address = text(info.ipmi_address);
  const cannot = (detail: string): PowerMethod => noMethod("incomplete", detail, address);
  if (address === "") return cannot("driver_info.ipmi_address is missing");
  const fault = addressFault(address);
  if (fault !== null) return cannot(`driver_info.ipmi_address ${fault}`);
  const port = numberOf(info.ipmi_port, IPMI_PORT);
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
  const login: IpmiLogin = {
    ...{ address, port, user: text(info.ipmi_username), level, kg },
    password: secretOf(info.ipmi_password),
    suite: suite === -1 ? null : suite,
  };
  const query = [
    `${address} port ${port} as ${JSON.stringify(login.user)} at ${level}`,
    ...(login.suite === null ? [] : [`suite ${login.suite}`]),
    ...(kg === null ? [] : ["with a Kg"]),
  ].join(", ");
  return { kind: "ipmi", login, query, digest: queryDigest(query, [login.password, kg]) };
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

/** The integer of a value. Null if it is not one. */
function numberOf(value: Json | undefined, otherwise: number): number | null {
  const digits = text(value);
  if (digits === "") return otherwise;
  return /^\d{1,6}$/.test(digits) ? Number(digits) : null;
}

function secretOf(value: Json | undefined): Secret | null {
  if (isSealed(value)) return value;
  return text(value) || null;
}
