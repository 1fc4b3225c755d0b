/** @source nova@2014.2:nova/virt/baremetal/pxe.py dhcp_options_for_instance */
export const BOOT_OPTIONS = ["bootfile-name", "server-ip-address", "tftp-server"] as const;

export interface PortBinding {
  /** `binding:host_id`. */
  readonly host: string;
  /** BOOT_OPTIONS by name. Null if not set. */
  readonly options: { readonly [name: string]: string | null };
}

export interface MovedPort {
  readonly port: string;
  readonly before: PortBinding;
  readonly after: PortBinding;
}

export function sameBinding(one: PortBinding, other: PortBinding): boolean {
  return (
    one.host === other.host &&
    BOOT_OPTIONS.every((name) => one.options[name] === other.options[name])
  );
}

/** Port values for a boot host. @param my_ip from the host's nova.conf */
export function bindingOn(host: string, my_ip: string): PortBinding {
  const options = {
    "bootfile-name": "pxelinux.0",
    "server-ip-address": my_ip,
    "tftp-server": my_ip,
  };
  return { host, options };
}
