import { MigrationError, orMessage } from "../../lib/error.ts";
import {
  bindingOn,
  type MovedPort,
  type PortBinding,
  sameBinding,
} from "../../model/ironic/port-binding.ts";
import type { LegacyMove } from "../../model/nova/legacy-move.ts";
import { cloudFor, hasLogin, type RestOptions } from "../../run/cloud.ts";
import type { Keep } from "../../run/databases.ts";
import { waitingFor } from "../../run/process-context.ts";
import type { Database } from "../../systems/database/open.ts";
import { read } from "../../systems/database/read.ts";
import { string, text } from "../../systems/database/rows.ts";
import type { Cloud } from "../../systems/openstack/cloud.ts";
import { openNetwork, type PlacedPort } from "../../systems/openstack/neutron-ports.ts";
import { readBootFacts } from "../leases/leases.ts";

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
  /** @returns why it failed, or null */
  const write = async (port: string, to: PortBinding, { tenant }: LegacyMove) => {
    const service = await neutron.service();
    if (service === null || tenant === null) return "Neutron does not answer";
    return orMessage(service.rebind(port, to, tenant.uuid));
  };
  const expectedBinding = async (host: string): Promise<PortBinding | null> => {
    if (myIp !== null) return bindingOn(host, myIp);
    const leased = "bm_service_leases WHERE host = ?";
    const [lease] = await read(leases, { host: string, my_ip: text }, leased, [host]);
    return lease?.my_ip ? bindingOn(host, lease.my_ip) : null;
  };
  /** Ports of booting machines. */
  const of = async (moves: readonly LegacyMove[]): Promise<readonly ObservedPort[]> => {
    const booted = moves.flatMap((move) =>
      move.boots && move.tenant !== null ? [{ id: move.id, instance: move.tenant.uuid, move }] : [],
    );
    const facts = await readBootFacts(leases, booted);
    const vifs = [...facts.values()].flatMap((one) => one.vifs);
    if (vifs.length === 0) return [];
    const found = await placed(vifs);
    const observed: ObservedPort[] = [];
    for (const { id: machine, move } of booted) {
      const expected = await expectedBinding(move.to);
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
        const reason = await write(port, after, move);
        if (reason !== null) report(`Port ${port} does not have host ${move.to} yet: ${reason}.`);
      }
    },
    /** Restores unchanged ports. @returns the conflicts */
    async restore(move: LegacyMove, ports: readonly MovedPort[]): Promise<readonly string[]> {
      const found = await placed(ports.map(({ port }) => port));
      const lost: string[] = [];
      for (const { port, before, after } of ports) {
        const now = found?.get(port);
        // A deleted port, or a port of another device, is not restored.
        const isBack = now === undefined || !isOf(move, now.device_id) || sameBinding(now, before);
        if (found !== null && isBack) continue;
        const cause =
          now === undefined
            ? "Neutron was not used: pass credentials"
            : sameBinding(now, after)
              ? await write(port, before, move)
              : "it has changed since";
        if (cause !== null) lost.push(`port ${port} of ${before.host} was not restored: ${cause}`);
      }
      return lost;
    },
  };
}

function isOf({ tenant }: LegacyMove, device: string): boolean {
  return tenant !== null && tenant.uuid.toLowerCase() === device.toLowerCase();
}

/** Open databases, for services that are opened in addition. */
export interface Opening {
  readonly leases: Database;
  readonly nova: Database;
  readonly keep: Keep;
  readonly report: (text: string) => void;
}

const LIMIT = 60;
/** Milliseconds until the next attempt after a failure. */
const AGAIN = 60_000;
/** The service has no endpoint, does not answer, or refuses the login or the request. */
const SILENT: readonly string[] = ["N2I-E106", "N2I-E210", "N2I-E211", "N2I-E212"];

/**
 * An unavailable service is a warning: when a host dies, other services may be down as well.
 *
 * @param open its parameter `limit` is the maximum milliseconds of a call
 * @throws MigrationError N2I-E106 for an incomplete login
 */
export function openOptional<T extends { readonly close: () => void }>(
  options: RestOptions,
  { keep, report }: Opening,
  name: string,
  open: (cloud: Cloud, limit: number) => Promise<T>,
) {
  const cloud = hasLogin(options) ? cloudFor(options) : null;
  const limit = (options.apiTimeout ?? LIMIT) * 1000;
  let opened: T | null = null;
  let failed = Number.NEGATIVE_INFINITY;
  /** The result of a call; null with a warning if it fails. */
  const quietly = async <R>(work: () => Promise<R>): Promise<R | null> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof MigrationError && SILENT.includes(error.code))) throw error;
      failed = performance.now();
      report(`Warning: ${name} is not used: ${error.message}.`);
      return null;
    }
  };
  /** Null without a login or endpoint, or with a warning if it does not answer. */
  const service = async (): Promise<T | null> => {
    if (opened !== null || cloud === null || performance.now() - failed < AGAIN) return opened;
    opened = await quietly(() => waitingFor(`logging in to ${name}`, () => open(cloud, limit)));
    if (opened !== null) keep(opened);
    return opened;
  };
  return {
    service,
    /** The answer, or null as `service`. */
    async ask<R>(question: (of: T) => Promise<R>): Promise<R | null> {
      const found = await service();
      return found && quietly(() => question(found));
    },
  };
}
