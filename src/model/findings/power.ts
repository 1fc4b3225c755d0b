import { acceptable, blocking, note, warning } from "./kind.ts";

/** N2I-D6..: what BMCs say. N2I-D600 to 619 are kept for the gate. @source facts/ipmi.md 6.8 */
export const POWER = {
  "N2I-D620": warning(
    "BMC offers cipher suite 0",
    "Whoever reaches it can switch the machine without a password. Disable suite 0 in the BMC; it is never used here.",
  ),
  "N2I-D621": note(
    "BMC offers SHA1 suites only",
    "Suite 17 needs newer firmware. Keep the management network closed.",
  ),
  "N2I-D622": warning(
    "BMC allows anonymous or null users",
    "Disable user 1 without a name and users without a password in the BMC.",
  ),
  "N2I-D623": warning(
    "BMC has a Kg that was not given",
    "nova-baremetal never knew one, so it may be set but not used. If the login fails, set driver_info.ipmi_hex_kg_key (Stein and later).",
  ),
  "N2I-D624": warning(
    "BMC is updating its firmware",
    "Its answers may be wrong until it has ended. Ask again.",
  ),
  "N2I-D625": warning(
    "chassis reports a fault, an overload or an interlock",
    "The power state is as reported; a power command may fail. Look at the machine.",
  ),
  "N2I-D626": warning(
    "only a part of the password is used",
    "ipmitool reads 20 bytes, up to the first line end or TAB. It is asked so here too; other clients may refuse it.",
  ),
  "N2I-D627": note(
    "BMC sends wrong checksums",
    "Some Supermicro boards do. The signature of the packet is right, so it is trusted.",
  ),
  "N2I-D628": note(
    "BMC does not tell its cipher suites",
    "ipmitool 1.8.19 and later waits five seconds for them at every command. Set driver_info.ipmi_cipher_suite (Victoria and later).",
  ),
  "N2I-D629": warning(
    "BMC makes its keys with the level of Open Session",
    "Some Supermicro, Sun, Intel, Quanta and Dell boards do. A conductor at ADMINISTRATOR fails to log in and says that the password is wrong. Set driver_info.ipmi_priv_level to OPERATOR.",
  ),
  "N2I-D631": warning(
    "BMC stops responding in a session after a request for its cipher suites",
    "Some Cisco UCS servers do this. ipmitool 1.8.19 and later sends that request before each session, so the conductor gets no answer. With a fixed suite ipmitool does not send it: set driver_info.ipmi_cipher_suite (Victoria and later).",
  ),
  // N2I-D600 to D619, and D630: what the power check says against loading a machine. @source facts/ipmi.md 4.4, 5.5
  "N2I-D600": acceptable(
    "BMC does not answer",
    "The conductor would not reach it either. Fix it and run power --only failed, accept it, or allow a number of them with plan --max-unreachable.",
  ),
  "N2I-D601": acceptable(
    "BMC refuses the credentials",
    "The conductor would be refused too. Correct pm_user and pm_password in nova_bm, run extract again, then power --only failed: other readings are kept. Or accept it.",
  ),
  "N2I-D602": acceptable(
    "BMC wants another privilege or cipher suite",
    "Set what is named in the site document's driver_info, or accept it.",
  ),
  "N2I-D603": acceptable(
    "power differs from what nova recorded",
    "Somebody switched the machine since nova looked. Find out which one is right, then accept it. Where it runs and instances.vm_state is stopped, Nova switches it off once a nova-compute runs: make the row active first, or switch the machine off yourself.",
  ),
  "N2I-D604": acceptable("power was not asked", "Run nova2ironic power, or accept it."),
  "N2I-D605": acceptable(
    "power cannot be asked by this tool",
    "iBoot, Tilera and fake machines have no BMC, and virtual ones need the SSH settings of their host in nova.conf, with a key (virtual_power_host_key). Look at the machine, then accept it.",
  ),
  "N2I-D606": acceptable(
    "BMC is busy, too slow, goes silent, or answers nonsense",
    "Run power --only failed once it is quiet, with a longer --deadline where time was over, or accept it. Where it goes silent, look for lost datagrams first, then at pm_user: some BMCs do not answer a name they do not know, and some say 0x01 or 0x12 at RAKP 2.",
  ),
  "N2I-D607": acceptable(
    "power cannot be asked with what is known",
    "Address, user or password of the BMC, or the SSH settings or the MAC of a virtual machine, is missing or cannot be used; the detail names it. Complete the row or nova.conf.",
  ),
  "N2I-D608": acceptable(
    "host of the virtual machine does not answer",
    "It is asked by ssh, as nova-compute asked it. Fix it and run power --only failed, accept it, or allow a number of them with plan --max-unreachable.",
  ),
  "N2I-D609": acceptable(
    "host of the virtual machine refuses the login",
    "The driver would be refused too. Correct virtual_power_host_user or _key in nova.conf and extract again, or accept it.",
  ),
  "N2I-D610": acceptable(
    "host of the virtual machine does not tell its power",
    "Its ssh, virsh or VBoxManage says what the detail names. Fix that and run power --only failed, or accept it.",
  ),
  "N2I-D630": acceptable(
    "UDP port of the BMC is closed",
    "The host is there, but nothing listens on the IPMI port, or a firewall rejects it. Check pm_address, turn on IPMI over LAN in the BMC, then run power --only failed, or accept it. --max-unreachable does not cover it.",
  ),
  "N2I-D611": blocking(
    "address of the BMC or its host cannot be used",
    "The conductor would pass it to ipmitool or ssh as it stands, and reach nobody. Set driver_info in the site document, or correct nova_bm or nova.conf and extract again.",
  ),
  "N2I-D612": acceptable(
    "power was asked otherwise than the conductor will ask",
    "The reading is not about what would be loaded. Run power again with the same --site, and --ironic-release or --conductor-ipmitool where they are named; --only failed asks these machines.",
  ),
};
