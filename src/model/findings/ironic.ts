import type { FindingKind } from "./kind.ts";

/** N2I-D5..: problems of what stands in Ironic already. */
export const IRONIC = {
  "N2I-D500": {
    severity: "blocks",
    title: "uuid is taken in Ironic",
    advice: "A row this tool did not write has it. Find out who enrolled it.",
  },
  "N2I-D501": {
    severity: "blocks",
    title: "MAC is taken in Ironic",
    advice: "Another node's port has it. Delete that port, or correct bm_interfaces.",
  },
  "N2I-D502": {
    severity: "blocks",
    title: "instance_uuid is taken in Ironic",
    advice: "Another node holds the instance. Find out which one is right.",
  },
  "N2I-D503": {
    severity: "blocks",
    title: "name is taken in Ironic",
    advice: "Choose another name in the site document.",
  },
  "N2I-D504": {
    severity: "warning",
    title: "Ironic's row differs from the plan",
    advice:
      "Somebody changed it, or its source, since it was loaded. It is left alone; see the fields listed.",
  },
} as const satisfies Record<string, FindingKind>;
