import { MigrationError } from "../../lib/error.ts";
import { shellWord } from "../../lib/text.ts";
import {
  type MovedPort,
  type PortPlace,
  placeOn,
  samePlace,
} from "../../model/ironic/port-place.ts";
import type { LegacyMove } from "../../model/nova/legacy-move.ts";
import type { RestOptions } from "../../run/cloud.ts";
import type { Keep } from "../../run/databases.ts";
import type { Database } from "../../systems/database/open.ts";
import { read } from "../../systems/database/read.ts";
import { string, text } from "../../systems/database/rows.ts";
import {
  type NetworkService,
  openNetwork,
  type PlacedPort,
} from "../../systems/openstack/neutron-ports.ts";
import { readBootFacts } from "../leases/boot.ts";
import { type LegacyNow, standing, wayThere } from "../rules/legacy-way.ts";
import { beside } from "./beside.ts";
import type { LegacyPorts } from "./steps/legacy-rows.ts";

/** Neutron ports, which name the host that boots a machine. @source facts/systems.md A2 H9, A5 */
export interface Ports extends LegacyPorts {
  /** Ports of booting machines, by bm_nodes.id. */
  readonly of: (moves: readonly LegacyMove[]) => Promise<ReadonlyMap<number, readonly string[]>>;
  /** Null without Neutron. */
  readonly placed: (ids: readonly string[]) => Promise<ReadonlyMap<string, PlacedPort> | null>;
  /** Null if the address of the host is unknown. */
  readonly wanted: (host: string) => Promise<PortPlace | null>;
}

interface Around {
  readonly leases: Database;
  readonly keep: Keep;
  readonly say: (text: string) => void;
  /** Address of the destination; null if not specified. */
  readonly myIp: string | null;
}

/** Opens Neutron on first use. Without a login, only commands for the ports are printed. */
export function openPorts(words: RestOptions, { leases, keep, say, myIp }: Around): Ports {
  const neutron = beside(words, { keep, say, name: "Neutron", open: openNetwork });
  const of: Ports["of"] = async (moves) => {
    const booted = moves.flatMap(({ id, tenant, boots }) =>
      tenant === null || !boots ? [] : [{ id, instance: tenant.uuid }],
    );
    if (booted.length === 0) return new Map();
    const facts = await readBootFacts(leases, booted);
    return new Map(booted.map(({ id }) => [id, facts.get(id)?.vifs ?? []]));
  };
  const placed: Ports["placed"] = async (ids) => {
    const service = await neutron.service();
    return service === null ? null : neutron.asked(() => service.placed(new Set(ids)));
  };
  const wanted: Ports["wanted"] = async (host) => {
    if (myIp !== null) return placeOn(host, myIp);
    const leased = "bm_service_leases WHERE host = ?";
    const [lease] = await read(leases, { host: string, my_ip: text }, leased, [host]);
    return lease?.my_ip ? placeOn(host, lease.my_ip) : null;
  };
  return {
    ...{ of, placed, wanted },
    async look(move) {
      const ids = (await of([move])).get(move.id) ?? [];
      const after = await wanted(move.to);
      if (ids.length === 0 || after === null) return [];
      const now = await placed(ids);
      return [...(now?.values() ?? [])].flatMap(({ id, device_id, host, options }) =>
        isOf(move, device_id) && !samePlace({ host, options }, after)
          ? [{ port: id, before: { host, options }, after }]
          : [],
      );
    },
    async change(move, ports) {
      for (const { port, after } of ports) {
        const why = await written(await neutron.service(), port, after, move);
        if (why !== null) say(`Port ${port} does not name ${move.to} yet: ${why}.`);
      }
    },
    async restore(move, ports) {
      const now = await placed(ports.map(({ port }) => port));
      const left: string[] = [];
      for (const one of ports) {
        const why = await restored(await neutron.service(), move, one, now);
        if (why !== null)
          left.push(`port ${one.port}, which named ${one.before.host}, was not restored: ${why}`);
      }
      return left;
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
  to: PortPlace,
  { tenant }: LegacyMove,
): Promise<string | null> {
  if (service === null || tenant === null) return "Neutron does not answer";
  return service.place(port, to, tenant.uuid).catch((cause: unknown) => {
    if (cause instanceof MigrationError) return cause.message;
    throw cause;
  });
}

/** Restores the port if it is unchanged. */
async function restored(
  service: NetworkService | null,
  move: LegacyMove,
  { port, before, after }: MovedPort,
  placed: ReadonlyMap<string, PlacedPort> | null,
): Promise<string | null> {
  if (placed === null) return "Neutron was not used: pass a login";
  const now = placed.get(port);
  // A deleted port, or a port of another device, is not restored.
  if (now === undefined || !isOf(move, now.device_id) || samePlace(now, before)) return null;
  if (!samePlace(now, after)) return "it has changed since";
  return written(service, port, before, move);
}

/** A machine that restarts before the port is changed boots from its old host. */
export function tellPorts(
  {
    ports,
    look,
  }: {
    readonly ports: Ports;
    readonly look: (moves: readonly LegacyMove[]) => Promise<readonly LegacyNow[]>;
  },
  tell: (text: string) => void,
) {
  let told = false;
  async function of(moves: readonly LegacyMove[]): Promise<void> {
    const own = await ports.of(moves);
    const all = [...own.values()].flat();
    if (all.length === 0) return;
    const placed = await ports.placed(all);
    for (const { id, to } of moves) {
      const place = await ports.wanted(to);
      for (const vif of own.get(id) ?? []) {
        const now = placed?.get(vif);
        if (now !== undefined && place !== null && samePlace(now, place)) continue;
        if (!told) tell("Before a machine restarts, set its new host on its Neutron ports:");
        told = true;
        tell(commandOf(vif, place ?? placeOn(to, `MY_IP_OF_${to}`)));
      }
    }
  }
  return {
    of,
    /** Machines that were not moved still boot from their old host. @returns the moved ones */
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

function commandOf(port: string, { host, options }: PortPlace): string {
  const words = Object.entries(options).map(
    ([name, value]) => `--extra-dhcp-option ${shellWord(`name=${name},value=${value}`)}`,
  );
  return `openstack port set --host ${shellWord(host)} ${words.join(" ")} ${shellWord(port)}`;
}
