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
import type { PlacedPort } from "../../systems/openstack/neutron-place.ts";
import { type NetworkService, openNetwork } from "../../systems/openstack/neutron-ports.ts";
import { readBootFacts } from "../leases/boot.ts";
import { type LegacyNow, standing, wayThere } from "../rules/legacy-way.ts";
import { beside } from "./beside.ts";
import type { LegacyPorts } from "./steps/legacy-rows.ts";

/** Neutron's ports of machines, which name the host that boots them. @source facts/systems.md A2 H9, A5 */
export interface Ports extends LegacyPorts {
  /** Ports of machines that boot, by bm_nodes.id. */
  readonly of: (moves: readonly LegacyMove[]) => Promise<ReadonlyMap<number, readonly string[]>>;
  /** As Neutron has them; null where it is not asked. */
  readonly placed: (ids: readonly string[]) => Promise<ReadonlyMap<string, PlacedPort> | null>;
  /** What ports of a host are to say; null where nobody knows which address it has. */
  readonly wanted: (host: string) => Promise<PortPlace | null>;
}

interface Around {
  readonly leases: Database;
  readonly keep: Keep;
  readonly say: (text: string) => void;
  /** Of the host that machines go to, as it was said; null where nobody did. */
  readonly myIp: string | null;
}

/** Opens Neutron with the login that is said, once somebody asks; without one its ports are only told of. */
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
          left.push(`port ${one.port}, which named ${one.before.host}, stays: ${why}`);
      }
      return left;
    },
  };
}

function isOf({ tenant }: LegacyMove, device: string): boolean {
  return tenant !== null && tenant.uuid.toLowerCase() === device.toLowerCase();
}

/** @returns why it is not, or null */
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

/** Back, while it is as it was left. */
async function restored(
  service: NetworkService | null,
  move: LegacyMove,
  { port, before, after }: MovedPort,
  placed: ReadonlyMap<string, PlacedPort> | null,
): Promise<string | null> {
  if (placed === null) return "Neutron was not asked; give a login to it";
  const now = placed.get(port);
  // Whoever deleted it, or gave it away, has said what becomes of it.
  if (now === undefined || !isOf(move, now.device_id) || samePlace(now, before)) return null;
  if (!samePlace(now, after)) return "it was changed since";
  return written(service, port, before, move);
}

/**
 * Says how Neutron's ports learn of the new host, where they do not know of it yet: until then a machine that
 * restarts asks the old one for its boot files.
 */
export function tellPorts(
  {
    ports,
    look,
  }: {
    readonly ports: Ports;
    /** What both databases hold of machines, in their order. */
    readonly look: (moves: readonly LegacyMove[]) => Promise<readonly LegacyNow[]>;
  },
  tell: (text: string) => void,
) {
  let told = false;
  /** Of machines that came to their new host. */
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
        if (!told) tell("Before a machine restarts, let Neutron's ports name its new host:");
        told = true;
        tell(commandOf(vif, place ?? placeOn(to, `MY_IP_OF_${to}`)));
      }
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

function commandOf(port: string, { host, options }: PortPlace): string {
  const words = Object.entries(options).map(
    ([name, value]) => `--extra-dhcp-option ${shellWord(`name=${name},value=${value}`)}`,
  );
  return `openstack port set --host ${shellWord(host)} ${words.join(" ")} ${shellWord(port)}`;
}
