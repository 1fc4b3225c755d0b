import { standing, wayThere } from "../core/hosts/legacy-way.ts";
import { read } from "../edge/database/read.ts";
import { string, text } from "../edge/database/rows.ts";
import { readBootFacts } from "../edge/leases/boot.ts";
import type { LegacyMove } from "../model/legacy-move.ts";
import { shellWord } from "../model/text.ts";
import type { LegacyPlace } from "./legacy-place.ts";

/**
 * Says how Neutron's ports learn of the new host: until then a machine that restarts asks the old one for its
 * boot files.
 *
 * @source facts/systems.md A2 H9, A5
 */
export function tellPorts(
  { leases, look }: Pick<LegacyPlace, "leases" | "look">,
  tell: (text: string) => void,
) {
  let told = false;
  /** Of machines that came to their new host. */
  async function of(moves: readonly LegacyMove[]): Promise<void> {
    const booted = moves.flatMap(({ id, to, tenant, boots }) =>
      tenant === null || !boots ? [] : [{ id, to, instance: tenant.uuid }],
    );
    if (booted.length === 0) return;
    const rows = await read(leases, { host: string, my_ip: text }, "bm_service_leases");
    const ips = new Map(rows.map((row) => [row.host, row.my_ip]));
    const facts = await readBootFacts(leases, booted);
    for (const { id, to } of booted)
      for (const vif of facts.get(id)?.vifs ?? []) {
        if (!told) tell("Before a machine restarts, let Neutron's ports name its new host:");
        told = true;
        tell(commandOf(vif, to, ips.get(to) ?? `MY_IP_OF_${to}`));
      }
  }
  return {
    of,
    /** Of those that are there: one that stayed is still booted by its old host. @returns which are */
    async ofThere(moves: readonly LegacyMove[]): Promise<readonly LegacyMove[]> {
      const now = await look(moves);
      const there = moves.filter((move, at) => {
        const seen = now[at];
        return seen !== undefined && standing(wayThere(move), seen).is === "after";
      });
      await of(there);
      return there;
    },
  };
}

/** The three options that nova-baremetal gives a port. @source nova@2014.2:nova/virt/baremetal/pxe.py dhcp_options_for_instance */
function commandOf(port: string, host: string, ip: string): string {
  const options = Object.entries({
    "bootfile-name": "pxelinux.0",
    "server-ip-address": ip,
    "tftp-server": ip,
  });
  const words = options.map(
    ([name, value]) => `--extra-dhcp-option ${shellWord(`name=${name},value=${value}`)}`,
  );
  return `openstack port set --host ${shellWord(host)} ${words.join(" ")} ${shellWord(port)}`;
}
