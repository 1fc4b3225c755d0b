import type { FindingKind } from "./kind.ts";

/** N2I-D600 to D619: what the power check says against loading a machine. @source facts/ipmi.md 4.4, 5.5 */
export const GATE = {
  "N2I-D600": {
    severity: "blocks",
    title: "BMC does not answer",
    advice:
      "The conductor would not reach it either. Mend it and run power --only failed, accept it, or allow a number of them with plan --max-unreachable.",
    acceptable: true,
  },
  "N2I-D601": {
    severity: "blocks",
    title: "BMC refuses the credentials",
    advice: "The conductor would be refused too. Correct pm_user and pm_password, or accept it.",
    acceptable: true,
  },
  "N2I-D602": {
    severity: "blocks",
    title: "BMC wants another privilege or cipher suite",
    advice: "Set what is named in the site document's driver_info, or accept it.",
    acceptable: true,
  },
  "N2I-D603": {
    severity: "blocks",
    title: "power differs from what nova recorded",
    advice:
      "Somebody switched the machine since nova looked. Find out which one is right, then accept it.",
    acceptable: true,
  },
  "N2I-D604": {
    severity: "blocks",
    title: "power was not asked",
    advice: "Run nova2ironic power, or accept it.",
    acceptable: true,
  },
  "N2I-D605": {
    severity: "blocks",
    title: "power cannot be asked over IPMI",
    advice:
      "Virtual power, iBoot and fake machines have no BMC. Look at the machine, then accept it.",
    acceptable: true,
  },
  "N2I-D606": {
    severity: "blocks",
    title: "BMC is busy or answers nonsense",
    advice: "Run power --only failed once it is quiet, or accept it.",
    acceptable: true,
  },
  "N2I-D607": {
    severity: "blocks",
    title: "power credentials cannot be used",
    advice: "Address, user or password is missing or too long for IPMI. Complete the row.",
    acceptable: true,
  },
} as const satisfies Record<string, FindingKind>;
