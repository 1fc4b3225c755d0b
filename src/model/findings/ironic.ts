import { acceptable, blocking, note, warning } from "./kind.ts";

/** N2I-D5..: existing rows in Ironic. */
export const IRONIC = {
  "N2I-D500": blocking(
    "uuid already in Ironic",
    "A row that nova2ironic did not write has this uuid. Find out who enrolled it.",
  ),
  "N2I-D501": blocking(
    "MAC already in Ironic",
    "Another node's port has it. Delete that port, or correct bm_interfaces.",
  ),
  "N2I-D502": blocking(
    "instance_uuid already in Ironic",
    "Another node has the instance. Find out which one is right.",
  ),
  "N2I-D503": blocking("name already in Ironic", "Choose a different name in the site document."),
  "N2I-D504": warning(
    "Ironic's row differs from the plan",
    "The row or its source changed after the load. It is left unchanged. Check the listed fields.",
  ),
  // N2I-D75.: limits of adoption over REST. @source facts/ironic.md 4.2, 4.3, 4.7
  "N2I-D750": note(
    "fields that REST cannot write",
    "Ironic writes its own times and internal fields. To keep the old values, load the machines into the database (--ironic-db).",
  ),
  "N2I-D751": note(
    "power state enforced as found",
    "`manage` reads the power state, and the conductor then enforces it, so a machine that is off at adoption stays off. From then on, power the machine on or off through Ironic or Nova.",
  ),
  "N2I-D752": note(
    "protection only after activation",
    "Over REST, protected is set in the last step. Until then, Ironic does not prevent the machine from being torn down. Keep nova-compute stopped until apply ends.",
  ),
  "N2I-D753": warning(
    "provision state that REST cannot reach",
    "The machine is moved only as far as manageable. Continue manually, or load it into the database (--ironic-db).",
  ),
  "N2I-D754": warning(
    "VIF that REST cannot record",
    "POST /vifs would rebind the tenant's live port, so nova2ironic does not call it. The Neutron port is unchanged, and extra.nova_bm.vif_port_id keeps its id. If dhcp_provider is neutron, Ironic cannot rebuild the server without the VIF (No VIFs found). Run openstack baremetal node vif attach NODE VIF after finish and before the first rebuild, or load the machine into the database (--ironic-db).",
  ),
  "N2I-D755": acceptable(
    "adoption creates no boot file",
    "The machine boots from the network, and adoption does not stage any files for it. Keep the old TFTP service, with a tftp_root that Ironic does not share, or run `nova2ironic boot` before and after the adoption. Then accept the finding. Alternatively, load the machine into the database (--ironic-db).",
  ),
  "N2I-D756": warning(
    "no live conductor can adopt the machine",
    "Ironic accepts a node only if a live conductor in its group has the driver. Start such a conductor. Until then, apply refuses to start.",
  ),
  "N2I-D757": blocking(
    "adoption needs deploy images",
    "To adopt a machine that boots from the network, this release requires both images. Set deploy_kernel and deploy_ramdisk in the site document.",
  ),
  "N2I-D758": warning(
    "adoption uses the conductor's deploy images",
    "Adoption fails unless [conductor]deploy_kernel and deploy_ramdisk are set in ironic.conf. Set them there, or in the site document.",
  ),
  "N2I-D759": blocking(
    "adoption needs a port with a MAC",
    "To adopt a machine that boots from the network, this release requires a port. Add the interface in nova-baremetal and repeat extract, or skip the machine.",
  ),
};
