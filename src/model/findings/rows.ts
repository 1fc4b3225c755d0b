import { acceptable, blocking, note, warning } from "./kind.ts";

/** N2I-D0..: problems of the rows as they stand. */
export const ROWS = {
  "N2I-D001": blocking(
    "node without uuid",
    "Nova knows it as 'None'. Give the row a uuid in nova_bm, or skip the machine in the site document.",
  ),
  "N2I-D002": blocking(
    "node uuid is not a uuid",
    "Ironic refuses it. Correct bm_nodes.uuid, or skip the machine.",
  ),
  "N2I-D003": warning(
    "deleted is NULL",
    "nova-baremetal never saw this row; it is treated as live. Skip it if it should not be.",
  ),
  "N2I-D004": note("soft-deleted node", "It is not loaded."),
  "N2I-D005": acceptable(
    "soft-deleted node still has a live Nova instance",
    "A tenant may be running there and nothing would own the machine. Undelete the row or end the instance; accept it to leave the machine out.",
  ),
  "N2I-D006": warning(
    "cpus, memory_mb or local_gb is NULL or not positive",
    "Nova cannot schedule it and Juno's resource update fails on NULL. Correct the row.",
  ),
  "N2I-D007": warning(
    "node without an interface",
    "Ironic cannot boot a machine it knows no MAC of.",
  ),
  "N2I-D008": blocking(
    "column that no rule reads",
    "Its value would be lost. Add a rule that carries it, or drop it with a reason, in the site document.",
  ),
  "N2I-D009": blocking(
    "NUL character in a value",
    "Databases and ipmitool cut or refuse it. Correct the row.",
  ),
  "N2I-D010": blocking(
    "MAC address is malformed",
    "Ironic's ports.address holds aa:bb:cc:dd:ee:ff only. Correct bm_interfaces.address.",
  ),
  "N2I-D011": blocking(
    "MAC address occurs twice",
    "It is unique in Ironic, ignoring case, and has one VIF. Remove the interface that is not real.",
  ),
  "N2I-D012": warning("interface without an address", "It is not loaded: a port needs a MAC."),
  "N2I-D013": warning(
    "interface without a live node",
    "It is not loaded: its bm_node_id names no live node.",
  ),
  "N2I-D014": note("soft-deleted interface", "It is not loaded."),
  "N2I-D015": note(
    "table with nothing Ironic needs",
    "Its rows are counted and left where they are.",
  ),
  "N2I-D016": blocking(
    "node uuid occurs twice",
    "It is unique in Ironic, ignoring case. Find out which row is the machine, and correct or delete the other.",
  ),
  "N2I-D017": blocking(
    "deleted cannot be read",
    "Zero is live and every other number is deleted; this is neither a number nor yes or no. Correct the row: a deleted machine must not come back, and a live one must not get lost.",
  ),
  "N2I-D018": note(
    "one MAC in two rows of a machine",
    "Upgrading nova_bm to version 6 leaves a second row where the spelling differs. Both make one port, and the vif_uuid of either counts.",
  ),
  "N2I-D019": warning(
    "date that does not exist",
    "No server takes it, so the field is left empty. It only says when the row was made or changed; correct it, then extract again, to carry it over.",
  ),
  "N2I-D020": blocking(
    "id is too large",
    "Ids up to 9007199254740991 (2^53 - 1) are distinguished here; nova_bm's own are integers of 32 bits. Give the row a smaller id, and its interfaces the same bm_node_id.",
  ),
  "N2I-D021": blocking(
    "size is not a whole number",
    "Nova takes only whole numbers of cores, MiB and GiB from Ironic, and fails on this one. Correct the row.",
  ),
  "N2I-D022": blocking(
    "MAC address is no network card's",
    "No card has a multicast, broadcast or zero address, so Ironic would never find the machine by it. Correct bm_interfaces.address, or remove the row.",
  ),
  "N2I-D023": warning(
    "vif_uuid is not a uuid",
    "No Neutron port is called so, and the port is loaded without a VIF. If the instance has one, correct bm_interfaces.vif_uuid.",
  ),
};
