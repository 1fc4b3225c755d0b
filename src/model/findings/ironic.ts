import { acceptable, blocking, note, warning } from "./kind.ts";

/** N2I-D5..: problems of what stands in Ironic already. */
export const IRONIC = {
  "N2I-D500": blocking(
    "uuid is taken in Ironic",
    "A row this tool did not write has it. Find out who enrolled it.",
  ),
  "N2I-D501": blocking(
    "MAC is taken in Ironic",
    "Another node's port has it. Delete that port, or correct bm_interfaces.",
  ),
  "N2I-D502": blocking(
    "instance_uuid is taken in Ironic",
    "Another node holds the instance. Find out which one is right.",
  ),
  "N2I-D503": blocking("name is taken in Ironic", "Choose another name in the site document."),
  "N2I-D504": warning(
    "Ironic's row differs from the plan",
    "Somebody changed it, or its source, since it was loaded. It is left alone; see the fields listed.",
  ),
  // N2I-D75.: what adoption over REST cannot carry. @source facts/ironic.md 4.2, 4.3, 4.7
  "N2I-D750": note(
    "fields that REST cannot write",
    "The service writes its own times and internal fields. Load into the database (--ironic-db) where they matter.",
  ),
  "N2I-D751": note(
    "power is enforced as found",
    "`manage` reads the power state, and from then on the conductor keeps the machine in it: one that is off when it is adopted stays off. Switch through Ironic or Nova from then on.",
  ),
  "N2I-D752": note(
    "protected only once it is active",
    "REST sets protected as the last step; until then Ironic would not refuse to tear the machine down. Keep nova-compute stopped until apply has ended.",
  ),
  "N2I-D753": warning(
    "provision state that REST cannot reach",
    "The machine is made manageable, and nothing else is done to it. Take it on from there by hand, or load into the database (--ironic-db).",
  ),
  "N2I-D754": warning(
    "VIF that this Ironic takes from its own records only",
    "POST /vifs would bind the tenant's live port anew, so it is not called; the Neutron port goes on as it is, and extra.nova_bm.vif_port_id keeps its id. Without it Ironic cannot rebuild the server where dhcp_provider is neutron (No VIFs found): run openstack baremetal node vif attach NODE VIF after finish, before the first rebuild. Or load into the database (--ironic-db).",
  ),
  "N2I-D755": acceptable(
    "adoption makes no boot file for the machine",
    "It boots from the network, and adoption stages nothing for it. Keep the old TFTP service, with a tftp_root Ironic does not share, or stage it with `nova2ironic boot` before and after; then accept it. Or load into the database (--ironic-db).",
  ),
  "N2I-D756": warning(
    "no conductor is alive that could adopt the machine",
    "Ironic takes no node in whose driver no living conductor of its group has. Start one; until then apply refuses to begin.",
  ),
  "N2I-D757": blocking(
    "adoption asks for deploy images",
    "This release adopts no machine that boots from the network without both: set deploy_kernel and deploy_ramdisk in the site document.",
  ),
  "N2I-D758": warning(
    "adoption takes deploy images from the conductor's configuration",
    "It fails where [conductor]deploy_kernel and deploy_ramdisk of ironic.conf are not set either. Set them there, or in the site document.",
  ),
  "N2I-D759": blocking(
    "adoption asks for a port with a MAC",
    "This release adopts no machine that boots from the network without one. Give it its interface in nova-baremetal and extract again, or skip the machine.",
  ),
};
