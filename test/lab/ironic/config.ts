import { join } from "node:path";
import { sqlalchemy } from "../cloud/config.ts";
import type { Coordinates } from "../server.ts";

export interface IronicOptions {
  /** `http_basic` has one account, its password new with every start. */
  readonly auth?: "noauth" | "http_basic" | "keystone";
  /** By which the lab asks whether it is up, where Keystone says who may. */
  readonly token?: string;
  /** Options an operator sets beside the lab's. */
  readonly more?: { readonly [section: string]: Section };
  /** The schema is made, and nothing runs until `wake`. */
  readonly asleep?: boolean;
  readonly port?: number;
  /** Folder for its schema, once made; its database then is `ironic`. */
  readonly kept?: string;
  /** Database of an existing Ironic, which keeps it. Both are then one service with two conductors. */
  readonly database?: string;
}

export interface LockedIronic extends IronicOptions {
  readonly folder: string;
  readonly port: number;
  readonly server: Coordinates;
  readonly database: string;
}

export type Section = { readonly [option: string]: string | number | boolean };

/**
 * ironic.conf of the lab. What endangers machines is left as Ironic ships it, above all force_power_state_during_sync
 * and automated_clean; only intervals are short, so that a test sees the periodic tasks.
 * @source facts/lab.md 3; facts/ironic.md 2.2
 */
export function ironicConfig(place: LockedIronic): string {
  return Object.entries(sections(place))
    .map(([name, options]) => [`[${name}]`, ...Object.entries(options).map(line), ""].join("\n"))
    .join("\n");
}

function line([option, value]: readonly [string, string | number | boolean]): string {
  return `${option} = ${value}`;
}

function sections(place: LockedIronic): { readonly [section: string]: Section } {
  const all = { ...labs(place), ...place.more };
  return Object.fromEntries(
    Object.entries(all).map(([name, options]) => [name, { ...labs(place)[name], ...options }]),
  );
}

function labs(place: LockedIronic): { readonly [section: string]: Section } {
  const { folder, port, auth = "noauth" } = place;
  const own = (name: string): string => join(folder, name);
  return {
    DEFAULT: {
      auth_strategy: auth,
      http_basic_auth_user_file: own("htpasswd"),
      rpc_transport: "none",
      host: "lab",
      my_ip: "127.0.0.1",
      state_path: own("state"),
      ...HARDWARE,
    },
    api: { host_ip: "127.0.0.1", port, api_workers: 1, max_limit: 1000 },
    conductor: {
      heartbeat_interval: 2,
      sync_power_state_interval: 5,
      // Takeover: so many machines at a time, so often (seconds).
      periodic_max_workers: 16,
      sync_local_state_interval: 3,
    },
    database: { connection: sqlalchemy(place.server, place.database) },
    ipmi: { command_retry_timeout: 10, min_command_interval: 1 },
    pxe: {
      tftp_server: "127.0.0.1",
      tftp_root: own("tftp"),
      tftp_master_path: own("tftp/master"),
      images_path: own("images/"),
      instance_master_path: own("images/master"),
    },
    deploy: { http_root: own("http"), http_url: "http://127.0.0.1:9" },
    dhcp: { dhcp_provider: "none" },
    nova: { send_power_notifications: false },
    oslo_messaging_notifications: { driver: "noop" },
    oslo_concurrency: { lock_path: own("state") },
    // Nothing of the system's own configuration.
    oslo_policy: { policy_file: own("policy.yaml"), policy_dirs: own("policy.d") },
    ...Object.fromEntries(["glance", "inspector", "neutron", "service_catalog"].map(nowhere)),
  };
}

const HARDWARE: Section = {
  enabled_hardware_types: "fake-hardware,ipmi,manual-management",
  enabled_bios_interfaces: "fake,no-bios",
  enabled_boot_interfaces: "fake,pxe,ipxe",
  enabled_console_interfaces: "fake,no-console,ipmitool-socat",
  enabled_deploy_interfaces: "fake,direct,ramdisk",
  enabled_inspect_interfaces: "fake,no-inspect",
  enabled_management_interfaces: "fake,ipmitool,noop",
  enabled_network_interfaces: "noop",
  enabled_power_interfaces: "fake,ipmitool",
  enabled_raid_interfaces: "fake,no-raid",
  enabled_rescue_interfaces: "fake,no-rescue",
  enabled_storage_interfaces: "external,fake,noop",
  enabled_vendor_interfaces: "fake,ipmitool,no-vendor",
  default_network_interface: "noop",
};

/** A service that is not there: the discard port. */
function nowhere(section: string): readonly [string, Section] {
  return [section, { auth_type: "none", endpoint_override: "http://127.0.0.1:9" }];
}
