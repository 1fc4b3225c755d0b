import type { FindingKind } from "./kind.ts";

/** N2I-D600 to D619, and D630: what the power check says against loading a machine. @source facts/ipmi.md 4.4, 5.5 */
export const GATE = {
  "N2I-D600": {
    severity: "blocks",
    title: "BMC does not answer",
    advice:
      "The conductor would not reach it either. Fix it and run power --only failed, accept it, or allow a number of them with plan --max-unreachable.",
    acceptable: true,
  },
  "N2I-D601": {
    severity: "blocks",
    title: "BMC refuses the credentials",
    advice:
      "The conductor would be refused too. Correct pm_user and pm_password in nova_bm, run extract again, then power --only failed: other readings are kept. Or accept it.",
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
      "Somebody switched the machine since nova looked. Find out which one is right, then accept it. Where it runs and instances.vm_state is stopped, Nova switches it off once a nova-compute runs: make the row active first, or switch the machine off yourself.",
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
    title: "power cannot be asked by this tool",
    advice:
      "iBoot, Tilera and fake machines have no BMC, and virtual ones need the SSH settings of their host in nova.conf. Look at the machine, then accept it.",
    acceptable: true,
  },
  "N2I-D606": {
    severity: "blocks",
    title: "BMC is busy, too slow, goes silent, or answers nonsense",
    advice:
      "Run power --only failed once it is quiet, with a longer --deadline where time was over, or accept it. Where it goes silent, look for lost datagrams first, then at pm_user: some BMCs do not answer a name they do not know.",
    acceptable: true,
  },
  "N2I-D607": {
    severity: "blocks",
    title: "power cannot be asked with what is known",
    advice:
      "Address, user or password of the BMC, or the SSH settings or the MAC of a virtual machine, is missing or cannot be used; the detail names it. Complete the row or nova.conf.",
    acceptable: true,
  },
  "N2I-D608": {
    severity: "blocks",
    title: "host of the virtual machine does not answer",
    advice:
      "It is asked by ssh, as nova-compute asked it. Fix it and run power --only failed, accept it, or allow a number of them with plan --max-unreachable.",
    acceptable: true,
  },
  "N2I-D609": {
    severity: "blocks",
    title: "host of the virtual machine refuses the login",
    advice:
      "The driver would be refused too. Correct virtual_power_host_user, _pass or _key in nova.conf and extract again, or accept it.",
    acceptable: true,
  },
  "N2I-D610": {
    severity: "blocks",
    title: "host of the virtual machine does not tell its power",
    advice:
      "Its ssh, virsh or VBoxManage says what the detail names. Fix that and run power --only failed, or accept it.",
    acceptable: true,
  },
  "N2I-D630": {
    severity: "blocks",
    title: "UDP port of the BMC is closed",
    advice:
      "The host is there, but nothing listens on the IPMI port, or a firewall rejects it. Check pm_address, turn on IPMI over LAN in the BMC, then run power --only failed, or accept it. --max-unreachable does not cover it.",
    acceptable: true,
  },
  "N2I-D611": {
    severity: "blocks",
    title: "address of the BMC or its host cannot be used",
    advice:
      "The conductor would pass it to ipmitool or ssh as it stands, and reach nobody. Set driver_info in the site document, or correct nova_bm or nova.conf and extract again.",
  },
  "N2I-D612": {
    severity: "blocks",
    title: "power was asked otherwise than the conductor will ask",
    advice:
      "The reading is not about what would be loaded. Run power again with the same --site, and --ironic-release or --conductor-ipmitool where they are named; --only failed asks these machines.",
    acceptable: true,
  },
} as const satisfies Record<string, FindingKind>;
