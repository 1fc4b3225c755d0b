import { flag, number, type OptionTable, perHost, program, string } from "../declared.ts";
import { common, needed } from "../shared.ts";

export const NOVA_CONF = {
  "nova-conf": string(
    "nova.conf of these hosts, for service_down_time and the [baremetal] settings",
  ),
};

/** The time after which a nova-compute is down. */
export const DOWN = {
  ...NOVA_CONF,
  "service-down-time": number("Seconds without a report before a nova-compute is down (60)", {
    above: 0,
  }),
};

/** Options of an agent, also in its systemd unit. */
export const AGENT: OptionTable = {
  host: string("Compute host that holds the lease: [DEFAULT]host in its nova.conf", {
    ...{ demandOption: true, form: [/^[!-~]+$/, "the name of a compute host"] },
  }),
  ...needed("nova-bm-db"),
  ...needed("nova-db"),
  interval: number("Seconds between two heartbeats", { default: 10, above: 0 }),
  ttl: number("Seconds without a heartbeat after which another host may fence this host", {
    default: 60,
  }),
  "my-ip": string("Address of this host for booting machines, published with the lease"),
  "tftp-root": string("TFTP tree of this host, to publish the boot files of its machines"),
  "on-fenced": program("Program that runs once if this host is fenced, to stop nova-compute"),
  take: flag("Take over the machines of dead hosts. Requires --run"),
  run: string("With --take: folder for the agent's runs, one for each takeover"),
  "fence-command": program("With --take: program that fences a dead host (exit status 0: fenced)"),
  "tftp-from": perHost("DIR", "a copy of the TFTP tree of another host. Repeatable"),
  ...DOWN,
  // For Glance images and Neutron ports. The login is in OS_*.
  ...common("os-cloud", "os-cacert", "insecure", "api-timeout"),
};
