/** The options that nova-baremetal gives a port. @source nova@2014.2:nova/virt/baremetal/pxe.py dhcp_options_for_instance */
export const BOOT_OPTIONS = ["bootfile-name", "server-ip-address", "tftp-server"] as const;

/** What a port of Neutron says of the host that boots its machine. */
export interface PortPlace {
  /** `binding:host_id`. */
  readonly host: string;
  /** Of BOOT_OPTIONS, by name; null where it has none. */
  readonly options: { readonly [name: string]: string | null };
}

/** A port that was let name another host. */
export interface MovedPort {
  readonly port: string;
  readonly before: PortPlace;
  readonly after: PortPlace;
}

/** Whether two say the same. */
export function samePlace(one: PortPlace, other: PortPlace): boolean {
  return (
    one.host === other.host &&
    BOOT_OPTIONS.every((name) => one.options[name] === other.options[name])
  );
}

/** What a machine's port is to say once a host boots it. @param my_ip the host's own, as its nova.conf has it */
export function placeOn(host: string, my_ip: string): PortPlace {
  const options = {
    "bootfile-name": "pxelinux.0",
    "server-ip-address": my_ip,
    "tftp-server": my_ip,
  };
  return { host, options };
}
