import { MigrationError } from "../../lib/error.ts";
import { counted, listed, NAMED } from "../../lib/text.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import type { MovePlan } from "../../run/host-files.ts";
import type { Sink } from "../../run/sink.ts";
import type { HostMoved } from "../host-moves.ts";
import { checkDead, checkPairs, silentSince } from "../host-watch.ts";
import { readLeases } from "../leases/leases.ts";
import { leaseText } from "../rules/legacy.ts";
import { isLive } from "../rules/successors.ts";
import type { LegacyClients } from "./legacy-clients.ts";
import {
  type Claiming,
  checkAny,
  type LegacyMoved,
  machinesOf,
  moveMachines,
  withLegacy,
} from "./legacy-moves.ts";
import { reportPorts } from "./legacy-ports.ts";

/** Also prints commands for ports. @throws MigrationError as `performLegacy` */
export async function moveLegacy(
  run: RunFolder,
  place: LegacyClients,
  plan: MovePlan,
  sink: Sink,
): Promise<HostMoved> {
  const ports = async (): Promise<void> => {
    const { ofCurrent } = reportPorts(place.ports, place.look, sink.result);
    for await (const some of machinesOf(plan)) await ofCurrent(some.map(({ move }) => move));
  };
  const moved = await performLegacy(run, place, plan, sink).finally(() =>
    // Also after a failure, because the next command may be refused.
    ports().catch(() => undefined),
  );
  checkAny(moved);
  return legacyMoved(plan, 0, moved);
}

export function legacyMoved({ manifest }: MovePlan, fenced: number, moved: LegacyMoved): HostMoved {
  const { made, found, left, stopped } = moved;
  return {
    ...({ unit: "machines", fenced, rows: made, found, left, stopped } as const),
    blocked: manifest.counts.verdicts.blocked,
    hosts: manifest.from.map(({ host }) => host),
  };
}

/**
 * @throws MigrationError N2I-E316 if a host that machines leave reports, N2I-E362 for a lock of
 * others
 */
export async function performLegacy(
  run: RunFolder,
  place: LegacyClients,
  plan: MovePlan,
  sink: Pick<Sink, "during" | "say">,
  how: Omit<Claiming, "hosts"> = {},
): Promise<LegacyMoved> {
  const { manifest } = plan;
  const leaving = manifest.from.map(({ host }) => host);
  const hosts = [...leaving, ...manifest.to];
  const silent = how.silent ?? (await leaseOf(place, leaving));
  const claiming = { hosts, ...how, ...(silent !== undefined && { silent }) };
  return withLegacy(run, place, [plan], claiming, async (legacy) => {
    const { target } = legacy;
    const seen =
      manifest.mode === "takeover"
        ? manifest.from
        : await silentSince(target, place, manifest, sink);
    await checkPairs(await place.world(), plan);
    await checkLeases(place, leaving);
    return sink.during(
      "host move",
      manifest.counts.verdicts.move,
      (progress) =>
        moveMachines(
          legacy,
          () => machinesOf(plan),
          async () => {
            await checkDead(target, seen);
            await checkLeases(place, leaving);
          },
          progress,
        ),
      ({ made }) => `${counted(made, "machine")} moved`,
    );
  });
}

/** A claim compares the machine's heartbeat, because an agent may return after the checks. */
async function leaseOf(
  { leases }: Pick<LegacyClients, "leases">,
  hosts: readonly string[],
): Promise<number | undefined> {
  const kept = (await readLeases(leases)).filter(
    ({ host, fenced_by }) => fenced_by === null && hosts.includes(host),
  );
  return kept.length === 0 ? undefined : Math.max(...kept.map(({ ttl }) => ttl));
}

/** An agent renews its lease only while nova-compute reports. @throws MigrationError N2I-E316 */
async function checkLeases(
  { leases }: Pick<LegacyClients, "leases">,
  hosts: readonly string[],
): Promise<void> {
  const live = (await readLeases(leases)).filter(
    (lease) => hosts.includes(lease.host) && isLive(lease),
  );
  if (live.length > 0)
    throw new MigrationError("N2I-E316", listed(live.map(leaseText), NAMED, "; "));
}
