import type { FindingKind } from "./kind.ts";

/** N2I-D75.: what adoption over REST cannot carry. @source facts/ironic.md 4.2, 4.3, 4.7 */
export const REST = {
  "N2I-D750": {
    severity: "note",
    title: "fields that REST cannot write",
    advice:
      "The service writes its own times and internal fields. Load into the database (--ironic-db) where they matter.",
  },
  "N2I-D751": {
    severity: "note",
    title: "power is enforced as found",
    advice:
      "`manage` reads the power state, and from then on the conductor keeps the machine in it: one that is off when it is adopted stays off. Switch through Ironic or Nova from then on.",
  },
  "N2I-D752": {
    severity: "note",
    title: "protected only once it is active",
    advice:
      "REST sets protected as the last step; until then Ironic would not refuse to tear the machine down. Keep nova-compute stopped until apply has ended.",
  },
  "N2I-D753": {
    severity: "warning",
    title: "provision state that REST cannot reach",
    advice:
      "The machine is made manageable, and nothing else is done to it. Take it on from there by hand, or load into the database (--ironic-db).",
  },
  "N2I-D754": {
    severity: "warning",
    title: "VIF that this Ironic takes from its own records only",
    advice:
      "POST /vifs would unbind the tenant's live port, so it is not called; the Neutron port goes on as it is, and extra.nova_bm.vif_port_id keeps its id. Load into the database (--ironic-db) where Ironic must know it.",
  },
  "N2I-D755": {
    severity: "blocks",
    title: "adoption makes no boot file for the machine",
    advice:
      "It boots from the network, and adoption stages nothing for it. Keep the old TFTP service, with a tftp_root Ironic does not share, or stage it with `nova2ironic boot` before and after; then accept it. Or load into the database (--ironic-db).",
    acceptable: true,
  },
  "N2I-D756": {
    severity: "warning",
    title: "no conductor is alive that could adopt the machine",
    advice:
      "Ironic takes no node in whose driver no living conductor of its group has. Start one; until then apply refuses to begin.",
  },
  "N2I-D757": {
    severity: "blocks",
    title: "adoption asks for deploy images",
    advice:
      "This release adopts no machine that boots from the network without both: set deploy_kernel and deploy_ramdisk in the site document.",
  },
  "N2I-D758": {
    severity: "warning",
    title: "adoption takes deploy images from the conductor's configuration",
    advice:
      "It fails where [conductor]deploy_kernel and deploy_ramdisk of ironic.conf are not set either. Set them there, or in the site document.",
  },
  "N2I-D759": {
    severity: "blocks",
    title: "adoption asks for a port with a MAC",
    advice:
      "This release adopts no machine that boots from the network without one. Give it its interface in nova-baremetal and extract again, or skip the machine.",
  },
} as const satisfies Record<string, FindingKind>;
