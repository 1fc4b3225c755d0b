import { acceptable, blocking, note, warning } from "./kind.ts";

const FIX =
  "Copy the tree again, or set root_uuid in the site document to the root filesystem's uuid (blkid).";

/** N2I-D6.. and D7..: machines and hosts that were read. */
export const POWER = {
  // N2I-D6..: BMCs. N2I-D600 to 619 are for the power check. @source facts/ipmi.md 6.8
  "N2I-D620": warning(
    "BMC offers cipher suite 0",
    "Anyone who can reach the BMC can power the machine off without a password. Disable suite 0 in the BMC. nova2ironic never uses it.",
  ),
  "N2I-D621": note(
    "BMC offers only SHA1 suites",
    "Suite 17 requires newer firmware. Restrict access to the management network.",
  ),
  "N2I-D622": warning(
    "BMC allows anonymous or null users",
    "In the BMC, disable user 1 if it has no name, and every user that has no password.",
  ),
  "N2I-D623": warning(
    "BMC with an unknown Kg",
    "nova-baremetal did not use one, so it may be unnecessary. If logging in to the BMC fails, set driver_info.ipmi_hex_kg_key (Stein and later).",
  ),
  "N2I-D624": warning(
    "BMC firmware update in progress",
    "Its responses may be wrong until the update ends. Repeat power after the update.",
  ),
  "N2I-D625": warning(
    "chassis fault, overload or interlock",
    "The power state is as reported, but a power command may fail. Check the machine.",
  ),
  "N2I-D626": warning(
    "only part of the password is used",
    "nova2ironic and ipmitool read at most 20 bytes, up to the first line break or tab. Other clients may reject the password.",
  ),
  "N2I-D627": note(
    "BMC sends wrong checksums",
    "Some Supermicro boards do this. The packet is accepted because its signature is valid.",
  ),
  "N2I-D628": note(
    "BMC does not report its cipher suites",
    "ipmitool 1.8.19 and later waits five seconds for them with every command. Set driver_info.ipmi_cipher_suite (Victoria and later).",
  ),
  "N2I-D629": warning(
    "BMC derives its keys from the privilege level of Open Session",
    "Some Supermicro, Sun, Intel, Quanta and Dell boards do this. A conductor that requests ADMINISTRATOR fails to log in and reports a wrong password. Set driver_info.ipmi_priv_level to OPERATOR.",
  ),
  "N2I-D631": warning(
    "BMC stops responding in a session after a cipher suite request",
    "Some Cisco UCS servers do this. ipmitool 1.8.19 and later sends that request before each session, unless a cipher suite is configured. Set driver_info.ipmi_cipher_suite (Victoria and later).",
  ),
  // N2I-D600 to D619, and D630: power check. @source facts/ipmi.md 4.4, 5.5
  "N2I-D600": acceptable(
    "BMC does not answer",
    "The conductor would not reach it either. Fix the problem and run power --only failed, accept the finding, or allow a number of unreachable BMCs with plan --max-unreachable.",
  ),
  "N2I-D601": acceptable(
    "BMC rejects the credentials",
    "It would also reject the conductor's credentials. Correct pm_user and pm_password in nova_bm, repeat extract, then run power --only failed, which keeps the other readings. Alternatively, accept the finding.",
  ),
  "N2I-D602": acceptable(
    "BMC requires a different privilege level or cipher suite",
    "Set the named key in driver_info of the site document, or accept the finding.",
  ),
  "N2I-D603": acceptable(
    "power state differs from Nova's record",
    "The power state changed after Nova last read it. Find out which state is right, then accept the finding. If the machine is on and instances.vm_state is stopped, nova-compute powers the machine off when it starts, so set vm_state to active first, or power the machine off yourself.",
  ),
  "N2I-D604": acceptable("power state not read", "Run nova2ironic power, or accept the finding."),
  "N2I-D605": acceptable(
    "power state that nova2ironic cannot read",
    "iBoot, Tilera and fake machines have no BMC, and virtual machines need the SSH settings of their host in nova.conf, with a key (virtual_power_host_key). Check the machine, then accept the finding.",
  ),
  "N2I-D606": acceptable(
    "BMC is busy, slow or silent, or sends invalid responses",
    "When it is idle, run power --only failed, with a longer --deadline if it timed out, or accept the finding. If it stops responding, check for lost datagrams, then check pm_user: some BMCs do not respond to an unknown user, and some return 0x01 or 0x12 at RAKP 2.",
  ),
  "N2I-D607": acceptable(
    "missing or unusable power settings",
    "The finding shows which setting is missing or unusable: the BMC address, user or password, or the SSH settings or MAC of a virtual machine. Complete the row or nova.conf, or accept the finding.",
  ),
  "N2I-D608": acceptable(
    "host of the virtual machine does not answer",
    "nova2ironic connects over SSH, as nova-compute did. Fix the problem and run power --only failed, accept the finding, or allow a number of unreachable machines with plan --max-unreachable.",
  ),
  "N2I-D609": acceptable(
    "host of the virtual machine rejects the credentials",
    "It would also reject the driver's credentials. Correct virtual_power_host_user or _key in nova.conf and repeat extract, or accept the finding.",
  ),
  "N2I-D610": acceptable(
    "host of the virtual machine does not report its power state",
    "The finding shows the error of ssh, virsh or VBoxManage. Fix the error and run power --only failed, or accept the finding.",
  ),
  "N2I-D630": acceptable(
    "UDP port of the BMC is closed",
    "The host exists, but nothing listens on the IPMI port, or a firewall rejects it. Check pm_address, enable IPMI over LAN in the BMC, then run power --only failed. Alternatively, accept the finding. --max-unreachable does not cover it.",
  ),
  "N2I-D611": blocking(
    "unusable address of the BMC or its host",
    "The conductor would pass it to ipmitool or ssh unchanged, and would not reach any host. Set driver_info in the site document, or correct nova_bm or nova.conf and repeat extract.",
  ),
  "N2I-D612": acceptable(
    "power state was not read as the conductor reads it",
    "The reading does not match the record to load. Repeat power with the same --site, and the --ironic-release or --conductor-ipmitool that the finding names. --only failed reads these machines.",
  ),
  // N2I-D7..: boot files of compute hosts. @source facts/nova-bm.md 3.5
  "N2I-D700": warning(
    "missing boot file",
    `The machine runs but cannot reboot, or the tree belongs to another host. ${FIX}`,
  ),
  "N2I-D701": warning(
    "boot file in deploy mode",
    `nova-baremetal never changed it to boot mode, so the machine's next reboot starts the deploy ramdisk. ${FIX}`,
  ),
  "N2I-D702": warning(
    "boot file without a root filesystem",
    `Grizzly's deploy helper wrote UUID=None when it missed the device. ${FIX}`,
  ),
  "N2I-D703": warning(
    "untrusted boot file",
    `It was ignored because it points outside the tree, is not a small text file, or is unreadable. ${FIX}`,
  ),
  "N2I-D704": warning(
    "boot file of another instance",
    `It was ignored because its root filesystem belongs to another tenant, perhaps the previous one. ${FIX}`,
  ),
  "N2I-D705": warning(
    "interface link does not point to the boot file",
    "pxelinux looks for pxelinux.cfg/01-MAC, so the machine does not boot from that interface. `boot` creates the links, but does not replace a link to another machine's file. Remove such a link by hand.",
  ),
  "N2I-D706": warning(
    "no kernel or ramdisk in the tree",
    "Either the machine can no longer boot, or only the configuration files were copied. `boot` requires the complete tree, unless both files are already in Ironic's tree.",
  ),
  "N2I-D707": warning(
    "no TFTP tree for this host",
    "Repeat extract with --tftp-root HOST=DIR for each service_host.",
  ),
  "N2I-D708": warning(
    "root filesystem differs between site document and boot file",
    "The value in the site document is used. Check it on the machine with blkid.",
  ),
};
