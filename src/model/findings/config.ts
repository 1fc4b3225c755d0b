import type { FindingKind } from "./kind.ts";

/** N2I-D3..: problems of drivers and configuration. */
export const CONFIG = {
  "N2I-D300": {
    severity: "blocks",
    title: "no nova.conf for this host",
    advice:
      "Power manager and driver stand only there. Extract again with --nova-conf HOST=FILE, or set the driver in the site document.",
  },
  "N2I-D301": {
    severity: "blocks",
    title: "power manager is unknown",
    advice: "An out-of-tree class: set driver and driver_info in the site document.",
  },
  "N2I-D302": {
    severity: "blocks",
    title: "power manager has no driver in this Ironic",
    advice: "Set driver and driver_info in the site document, or skip the machine.",
  },
  "N2I-D303": {
    severity: "blocks",
    title: "power address cannot be read",
    advice: "iBoot needs host[:port][,relay]. Correct bm_nodes.pm_address.",
  },
  "N2I-D304": {
    severity: "warning",
    title: "power credentials are incomplete",
    advice: "nova-baremetal refused every operation on it. Complete the row.",
  },
  "N2I-D305": {
    severity: "warning",
    title: "two live nodes have the same pm_address",
    advice: "Right for a shared chassis or iBoot relays, wrong for IPMI: look at both.",
  },
  "N2I-D306": {
    severity: "warning",
    title: "credential is not plain ASCII",
    advice: "Latin-1 tables may have garbled it. Compare with what the BMC accepts.",
  },
  "N2I-D307": {
    severity: "warning",
    title: "cpu_arch is unknown",
    advice: "Flavors that ask for it will not match. Set cpu_arch in the site document.",
  },
  "N2I-D308": {
    severity: "blocks",
    title: "deploy driver cannot be carried over",
    advice: "A Tilera machine's root filesystem lives on the compute host. Skip it.",
  },
  "N2I-D309": {
    severity: "warning",
    title: "this Ironic has no place for what the site document sets",
    advice:
      "The release lacks that column or key, so the value is not written. Leave it out of the site document, or plan against another release.",
  },
  "N2I-D310": {
    severity: "warning",
    title: "entry of the site document matches no machine",
    advice:
      "A misspelt uuid or host: what it skips is loaded, and what it sets or accepts is not heard. Compare its match with show RUN/snapshot.jsonl.",
  },
} as const satisfies Record<string, FindingKind>;
