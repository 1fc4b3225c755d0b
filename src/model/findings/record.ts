import type { FindingKind } from "./kind.ts";

/** N2I-D4..: problems of the record for Ironic. */
export const RECORD = {
  "N2I-D400": {
    severity: "blocks",
    title: "value is missing that this Ironic needs",
    advice: "Complete the source, or set the value in the site document.",
  },
  "N2I-D401": {
    severity: "blocks",
    title: "record does not fit the Ironic schema",
    advice: "A value is too long or of the wrong type. Correct the source.",
  },
  "N2I-D402": {
    severity: "warning",
    title: "take-over will fail for want of this value",
    advice:
      "The conductor tries for ever and logs nothing. Extract with --nova-db, or set it in the site document.",
  },
  "N2I-D403": {
    severity: "blocks",
    title: "this Ironic cannot boot the machine",
    advice:
      "nova-baremetal machines boot kernel and ramdisk from the network and have no bootloader; Ironic 21 and later boot from disk only. Keep the old TFTP service or install a bootloader, then accept it.",
    acceptable: true,
  },
  "N2I-D404": {
    severity: "warning",
    title: "root filesystem uuid is unknown",
    advice:
      "It stands only in the compute host's TFTP tree; without it take-over leaves the boot file in deploy mode.",
  },
  "N2I-D405": {
    severity: "blocks",
    title: "character that this Ironic database cannot hold",
    advice: "Its tables are utf8mb3. Correct the value.",
  },
} as const satisfies Record<string, FindingKind>;
