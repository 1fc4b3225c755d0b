import { acceptable, blocking, note, warning } from "./kind.ts";

/** N2I-D0..: source rows. */
export const ROWS = {
  "N2I-D001": blocking(
    "node without a uuid",
    "Nova knows it as 'None'. Set a uuid for the row in nova_bm, or skip the machine in the site document.",
  ),
  "N2I-D002": blocking(
    "invalid node uuid",
    "Ironic rejects it. Correct bm_nodes.uuid, or skip the machine.",
  ),
  "N2I-D003": warning(
    "deleted is NULL",
    "nova-baremetal never saw this row, but it is treated as live. If it is not live, skip it.",
  ),
  "N2I-D004": note("soft-deleted node", "It is not loaded."),
  "N2I-D005": acceptable(
    "soft-deleted node with a live Nova instance",
    "A tenant's instance may be running on the machine. Undelete the row or delete the instance. If you accept the finding, the machine is skipped.",
  ),
  "N2I-D006": warning(
    "cpus, memory_mb or local_gb is NULL or not positive",
    "Nova cannot schedule to the machine, and Juno's resource update fails on NULL. Correct the row.",
  ),
  "N2I-D007": warning(
    "node without an interface",
    "Ironic cannot boot a machine without a known MAC.",
  ),
  "N2I-D008": blocking(
    "column without a rule",
    "Its value would be lost. In the site document, add a rule that maps it, or drop it with a reason.",
  ),
  "N2I-D009": blocking(
    "NUL character in a value",
    "Databases and ipmitool truncate or reject such a value. Correct the row.",
  ),
  "N2I-D010": blocking(
    "malformed MAC address",
    "Ironic's ports.address accepts only aa:bb:cc:dd:ee:ff. Correct bm_interfaces.address.",
  ),
  "N2I-D011": blocking(
    "duplicate MAC address",
    "A MAC address must be unique in Ironic, regardless of case, and can have only one VIF. Remove the wrong interface.",
  ),
  "N2I-D012": warning(
    "interface without an address",
    "It is not loaded, because a port needs a MAC.",
  ),
  "N2I-D013": warning(
    "interface without a live node",
    "It is not loaded, because its bm_node_id does not refer to a live node.",
  ),
  "N2I-D014": note("soft-deleted interface", "It is not loaded."),
  "N2I-D015": note("table that Ironic does not need", "Its rows are counted but not migrated."),
  "N2I-D016": blocking(
    "duplicate node uuid",
    "A uuid must be unique in Ironic, regardless of case. Find out which row belongs to the machine, and correct or delete the other row.",
  ),
  "N2I-D017": blocking(
    "unreadable value in deleted",
    "It is neither a number (zero means live, any other number deleted) nor yes or no. Correct the row, because a deleted machine must not be loaded and a live machine must not be lost.",
  ),
  "N2I-D018": note(
    "one MAC in two rows of a machine",
    "The upgrade of nova_bm to version 6 leaves a second row if the spelling differs. The two rows become one port, with the vif_uuid of either row.",
  ),
  "N2I-D019": warning(
    "nonexistent date",
    "No server accepts this creation or update time, so the field is left empty. To migrate the time, correct it and repeat extract.",
  ),
  "N2I-D020": blocking(
    "id is too large",
    "nova2ironic supports ids up to 9007199254740991 (2^53 - 1). Change the id of the row to a smaller one, and set bm_node_id of its interfaces to the same value.",
  ),
  "N2I-D021": blocking(
    "size is not a whole number",
    "Nova fails on it, because Ironic must report whole numbers of cores, MiB and GiB. Correct the row.",
  ),
  "N2I-D022": blocking(
    "invalid MAC address for a network card",
    "No network card has a multicast, broadcast or zero address, so Ironic would never find the machine. Correct bm_interfaces.address, or remove the row.",
  ),
  "N2I-D023": warning(
    "vif_uuid is not a uuid",
    "No Neutron port has such an id, so the port is loaded without a VIF. If the instance has one, correct bm_interfaces.vif_uuid.",
  ),
};
