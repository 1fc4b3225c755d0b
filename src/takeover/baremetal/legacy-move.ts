import { MigrationError } from "../../lib/error.ts";
import { counted, listed, NAMES } from "../../lib/text.ts";
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
  clients: LegacyClients,
  plan: MovePlan,
  sink: Sink,
): Promise<HostMoved> {
  const ports = async (): Promise<void> => {
    const { ofCurrent } = reportPorts(clients.ports, clients.read, sink.result);
    for await (const some of machinesOf(plan)) await ofCurrent(some.map(({ move }) => move));
  };
  const moved = await performLegacy(run, clients, plan, sink).finally(() =>
    // Also print the commands after a failure, because the next command may be refused.
    ports().catch(() => undefined),
  );
  checkAny(moved);
  return legacyMoved(plan, 0, moved);
}

export function legacyMoved(
  { manifest }: MovePlan,
  fenced: number,
  { made, found, skipped, stopped }: LegacyMoved,
): HostMoved {
  const { blocked } = manifest.counts.verdicts;
  return { manifest, blocked, fenced, made, found, skipped, stopped };
}

/**
 * @throws MigrationError N2I-E316 if a host that machines leave reports, N2I-E362 if another process
 * has a lock
 */
export async function performLegacy(
  run: RunFolder,
  clients: LegacyClients,
  plan: MovePlan,
  sink: Pick<Sink, "during" | "report">,
  how: Omit<Claiming, "hosts"> = {},
): Promise<LegacyMoved> {
  const { manifest } = plan;
  const sources = manifest.from.map(({ host }) => host);
  const hosts = [...sources, ...manifest.to];
  const silent = how.silent ?? (await leaseOf(clients, sources));
  const claiming = { hosts, ...how, ...(silent !== undefined && { silent }) };
  return withLegacy(run, clients, [plan], claiming, async (legacy) => {
    const { target } = legacy;
    const oldHosts =
      manifest.mode === "takeover"
        ? manifest.from
        : await silentSince(target, clients, manifest, sink);
    await checkPairs(await clients.readFacts(), plan);
    await checkLeases(clients, sources);
    return sink.during(
      "host move",
      manifest.counts.verdicts.move,
      (progress) =>
        moveMachines(
          legacy,
          () => machinesOf(plan),
          async () => {
            await checkDead(target, oldHosts);
            await checkLeases(clients, sources);
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
  const unfenced = (await readLeases(leases)).filter(
    ({ host, fenced_by }) => fenced_by === null && hosts.includes(host),
  );
  return unfenced.length === 0 ? undefined : Math.max(...unfenced.map(({ ttl }) => ttl));
}

/** An agent renews its lease only while nova-compute reports. @throws MigrationError N2I-E316 */
async function checkLeases(
  { leases }: Pick<LegacyClients, "leases">,
  hosts: readonly string[],
): Promise<void> {
  const live = (await readLeases(leases)).filter((one) => hosts.includes(one.host) && isLive(one));
  if (live.length > 0)
    throw new MigrationError("N2I-E316", listed(live.map(leaseText), NAMES, "; "));
}
