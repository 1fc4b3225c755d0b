import type { FindingKind } from "./kind.ts";

/** N2I-D6..: what BMCs say. N2I-D600 to 619 are kept for the gate. @source facts/ipmi.md 6.8 */
export const POWER = {
  "N2I-D620": {
    severity: "warning",
    title: "BMC offers cipher suite 0",
    advice:
      "Whoever reaches it can switch the machine without a password. Disable suite 0 in the BMC; it is never used here.",
  },
  "N2I-D621": {
    severity: "note",
    title: "BMC offers SHA1 suites only",
    advice: "Suite 17 needs newer firmware. Keep the management network closed.",
  },
  "N2I-D622": {
    severity: "warning",
    title: "BMC allows anonymous or null users",
    advice: "Disable user 1 without a name and users without a password in the BMC.",
  },
  "N2I-D623": {
    severity: "warning",
    title: "BMC has a Kg that was not given",
    advice:
      "nova-baremetal never knew one, so it may be set but not used. If the login fails, set driver_info.ipmi_hex_kg_key (Stein and later).",
  },
  "N2I-D624": {
    severity: "warning",
    title: "BMC is updating its firmware",
    advice: "Its answers may be wrong until it has ended. Ask again.",
  },
  "N2I-D625": {
    severity: "warning",
    title: "chassis reports a fault, an overload or an interlock",
    advice: "The power state is as told; a power command may fail. Look at the machine.",
  },
  "N2I-D626": {
    severity: "warning",
    title: "only a part of the password is used",
    advice:
      "ipmitool reads 20 bytes, up to the first line end or TAB. It is asked so here too; other clients may refuse it.",
  },
  "N2I-D627": {
    severity: "note",
    title: "BMC sends wrong checksums",
    advice: "Some Supermicro boards do. The signature of the packet is right, so it is trusted.",
  },
  "N2I-D628": {
    severity: "note",
    title: "BMC does not tell its cipher suites",
    advice:
      "ipmitool 1.8.19 and later waits five seconds for them at every command. Set driver_info.ipmi_cipher_suite (Victoria and later).",
  },
  "N2I-D629": {
    severity: "warning",
    title: "BMC makes its keys with the level of Open Session",
    advice:
      "Some Supermicro, Sun, Intel, Quanta and Dell boards do. A conductor at ADMINISTRATOR fails to log in and says that the password is wrong. Set driver_info.ipmi_priv_level to OPERATOR.",
  },
} as const satisfies Record<string, FindingKind>;
