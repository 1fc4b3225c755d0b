import { orMessage } from "../../lib/error.ts";
import { shellArgument } from "../../lib/text.ts";
import {
  bindingOn,
  type MovedPort,
  type PortBinding,
  sameBinding,
} from "../../model/ironic/port-binding.ts";
import type { LegacyMove } from "../../model/nova/legacy-move.ts";
import type { RestOptions } from "../../run/cloud.ts";
import { read } from "../../systems/database/read.ts";
import { string, text } from "../../systems/database/rows.ts";
import {
  type NetworkService,
  openNetwork,
  type PlacedPort,
} from "../../systems/openstack/neutron-ports.ts";
import { readBootFacts } from "../leases/leases.ts";
import { forwardTransition, type LegacyNow, moveState } from "../rules/legacy-states.ts";
import { type Opening, openOptional } from "./optional-services.ts";

type Ports = ReturnType<typeof openPorts>;

export interface ObservedPort {
  readonly id: string;
  readonly move: LegacyMove;
  /** Undefined if the port does not exist. Null without Neutron. */
  readonly now: PlacedPort | null | undefined;
  /** Null if the address of the new host is unknown. */
  readonly expected: PortBinding | null;
}

/**
 * Neutron ports, which name the host that boots a machine. Opens Neutron on first use. Without a login, only commands for the ports are printed.
 *
 * @param myIp address of the destination; null if not specified
 * @source facts/systems.md A2 H9, A5
 */
export function openPorts(restOptions: RestOptions, opening: Opening, myIp: string | null) {
  const { leases, report } = opening;
  const neutron = openOptional(restOptions, opening, "Neutron", openNetwork);
  const placed = (ids: readonly string[]) => neutron.ask((service) => service.placed(new Set(ids)));
  const expectedBinding = async (host: string): Promise<PortBinding | null> => {
    if (myIp !== null) return bindingOn(host, myIp);
    const leased = "bm_service_leases WHERE host = ?";
    const [lease] = await read(leases, { host: string, my_ip: text }, leased, [host]);
    return lease?.my_ip ? bindingOn(host, lease.my_ip) : null;
  };
  /** Ports of booting machines. */
  const of = async (moves: readonly LegacyMove[]): Promise<readonly ObservedPort[]> => {
    const booted = moves.flatMap((move) =>
      move.tenant === null || !move.boots
        ? []
        : [{ id: move.id, instance: move.tenant.uuid, move }],
    );
    if (booted.length === 0) return [];
    const facts = await readBootFacts(leases, booted);
    const vifs = [...facts.values()].flatMap((one) => one.vifs);
    const found = vifs.length === 0 ? null : await placed(vifs);
    const observed: ObservedPort[] = [];
    for (const { id: machine, move } of booted) {
      const expected = vifs.length === 0 ? null : await expectedBinding(move.to);
      for (const id of facts.get(machine)?.vifs ?? [])
        observed.push({ id, move, now: found === null ? null : found.get(id), expected });
    }
    return observed;
  };
  return {
    of,
    /** Ports to change, with their current values; empty if they cannot be changed. */
    async read(move: LegacyMove): Promise<readonly MovedPort[]> {
      return (await of([move])).flatMap(({ id, now, expected: after }) => {
        if (!now || after === null || !isOf(move, now.device_id) || sameBinding(now, after))
          return [];
        const { host, options } = now;
        return [{ port: id, before: { host, options }, after }];
      });
    },
    /** A refusal is a warning. */
    async change(move: LegacyMove, ports: readonly MovedPort[]): Promise<void> {
      for (const { port, after } of ports) {
        const reason = await written(await neutron.service(), port, after, move);
        if (reason !== null) report(`Port ${port} does not have host ${move.to} yet: ${reason}.`);
      }
    },
    /** @returns the conflicts */
    async restore(move: LegacyMove, ports: readonly MovedPort[]): Promise<readonly string[]> {
      const now = await placed(ports.map(({ port }) => port));
      const lost: string[] = [];
      for (const one of ports) {
        const cause = await restored(await neutron.service(), move, one, now);
        if (cause !== null)
          lost.push(`port ${one.port} of ${one.before.host} was not restored: ${cause}`);
      }
      return lost;
    },
  };
}

function isOf({ tenant }: LegacyMove, device: string): boolean {
  return tenant !== null && tenant.uuid.toLowerCase() === device.toLowerCase();
}

/** @returns why it failed, or null */
async function written(
  service: NetworkService | null,
  port: string,
  to: PortBinding,
  { tenant }: LegacyMove,
): Promise<string | null> {
  if (service === null || tenant === null) return "Neutron does not answer";
  return orMessage(service.rebind(port, to, tenant.uuid));
}

/** Restores the port if it is unchanged. */
async function restored(
  service: NetworkService | null,
  move: LegacyMove,
  { port, before, after }: MovedPort,
  placed: ReadonlyMap<string, PlacedPort> | null,
): Promise<string | null> {
  if (placed === null) return "Neutron was not used: pass credentials";
  const now = placed.get(port);
  // A deleted port, or a port of another device, is not restored.
  if (now === undefined || !isOf(move, now.device_id) || sameBinding(now, before)) return null;
  if (!sameBinding(now, after)) return "it has changed since";
  return written(service, port, before, move);
}

/** A machine that restarts before the port is changed boots from its old host. */
export function reportPorts(
  ports: Ports,
  read: (moves: readonly LegacyMove[]) => Promise<readonly LegacyNow[]>,
  report: (text: string) => void,
) {
  let reported = false;
  async function of(moves: readonly LegacyMove[]): Promise<void> {
    for (const { id, move, now, expected } of await ports.of(moves)) {
      if (now && expected !== null && sameBinding(now, expected)) continue;
      if (!reported) report("Before a machine restarts, set its new host on its Neutron ports:");
      reported = true;
      report(commandOf(id, expected ?? bindingOn(move.to, `MY_IP_OF_${move.to}`)));
    }
  }
  return {
    of,
    /** Machines that were not moved still boot from their old host. @returns the moved machines */
    async ofCurrent(moves: readonly LegacyMove[]): Promise<readonly LegacyMove[]> {
      const now = await read(moves);
      const moved = now.flatMap((one) =>
        moveState(forwardTransition(one.move), one).is === "after" ? [one.move] : [],
      );
      await of(moved);
      return moved;
    },
  };
}

function commandOf(port: string, { host, options }: PortBinding): string {
  const args = Object.entries(options).map(
    ([name, value]) => `--extra-dhcp-option ${shellArgument(`name=${name},value=${value}`)}`,
  );
  return `openstack port set --host ${shellArgument(host)} ${args.join(" ")} ${shellArgument(port)}`;
}
