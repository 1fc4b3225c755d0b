import { columnsOf, type HostConfig, type Machine } from "../../model/machine.ts";
import type { PowerVerdict } from "../../model/power.ts";

/** nova-baremetal's power managers, by what it takes to ask them. @source facts/nova-bm.md 3.1 */
const MANAGERS: { readonly [classPath: string]: PowerVerdict | "ipmi" } = {
  ipmi: "ipmi",
  "virtual-power": "virtual",
  iboot: "iboot",
  fake: "fake",
  tilera: "tilera",
  "nova.virt.baremetal.ipmi.IPMI": "ipmi",
  "nova.virt.baremetal.virtual_power_driver.VirtualPowerManager": "virtual",
  "nova.virt.baremetal.iboot_pdu.IBootManager": "iboot",
  "nova.virt.baremetal.fake.FakePowerManager": "fake",
  "nova.virt.baremetal.tilera_pdu.Pdu": "tilera",
};

/** How one machine's power can be asked. */
export type Way =
  | { readonly way: "ipmi" }
  | { readonly way: "virtual"; readonly host: HostConfig }
  /** Nobody can be asked; the verdict says why. */
  | { readonly way: "none"; readonly verdict: PowerVerdict; readonly detail: string };

/**
 * How a machine is asked: by its compute host's power manager, or the one the site document names.
 *
 * @param host the settings of its compute host; null when none were given
 * @param named power_manager of the site document
 */
export function wayOf({ node }: Machine, host: HostConfig | null, named: string | undefined): Way {
  const manager = named ?? host?.power_manager;
  if (manager === undefined) {
    const detail = `no nova.conf for ${node.service_host ?? "NULL"}: its power manager is unknown`;
    return { way: "none", verdict: "other-power", detail };
  }
  const kind = MANAGERS[manager] ?? "other-power";
  if (kind === "ipmi") {
    const absent = [
      ["pm_address", node.pm_address],
      ["pm_user", node.pm_user],
      ["pm_password", node.pm_password],
    ].flatMap(([column, value]) => (value === null || value === "" ? [column] : []));
    // nova-baremetal took an empty user and password, but no address.
    const fatal = node.pm_address
      ? absent.filter((column) => columnsOf(node)[String(column)] === null)
      : absent;
    return fatal.length > 0
      ? { way: "none", verdict: "incomplete", detail: `${fatal.join(", ")} is missing` }
      : { way: "ipmi" };
  }
  if (kind === "virtual" && host?.virtual_power_ssh_host) return { way: "virtual", host };
  return { way: "none", verdict: kind, detail: `${manager} has no BMC to ask` };
}
