import { flag, number, type OptionTable, perHost, word, words } from "../declared.ts";
import { common, needed } from "../shared.ts";

export const NOVA_BM = {
  "nova-bm-db": word("nova_bm: URL without password, file:PATH, env:NAME or conf:PATH"),
};

export const NOVA_CONF = {
  "nova-conf": word("nova.conf of these hosts: service_down_time, and what [baremetal] boots by"),
};

/** When Nova calls a nova-compute down. */
export const DOWN = {
  ...NOVA_CONF,
  "service-down-time": number("Seconds without a report after which a nova-compute is down (60)", {
    above: 0,
  }),
};

/** The options of an agent, which its systemd unit has too. */
export const AGENT: OptionTable = {
  host: word("Compute host whose lease is kept, as [DEFAULT]host of its nova.conf", {
    ...{ demandOption: true, form: [/^[!-~]+$/, "the name of a compute host"] },
  }),
  ...needed("nova-bm-db"),
  ...needed("nova-db"),
  interval: number("Seconds between two heartbeats", { default: 10, above: 0 }),
  ttl: number("Seconds without one after which others may fence this host", { default: 60 }),
  "my-ip": word("Address of this host that machines boot from, published with its lease"),
  "tftp-root": word("TFTP tree of this host: what boots its machines is published from it"),
  "on-fenced": word("Program to run, once, when this host was fenced: to stop nova-compute"),
  take: flag("Take over the machines of hosts that are dead; wants --run"),
  run: word("With --take: folder of the agent's own, in which each take-over is a run"),
  "fence-command": word(
    "With --take: program that keeps a dead host from coming back; 0 is yes, and nothing else",
  ),
  "tftp-from": words(
    "HOST=DIR: a copy of the TFTP tree of another host. Repeatable",
    perHost("DIR"),
  ),
  ...DOWN,
  // For Glance's images and Neutron's ports; OS_* say the rest.
  ...common("os-cloud", "os-cacert", "insecure", "api-timeout"),
};
