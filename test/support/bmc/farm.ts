import type { Socket } from "node:dgram";
import { once } from "node:events";
import { seeded } from "../../../src/lib/ipmi/queue.ts";
import { SYSTEM_CLOCK, type Timers } from "../../../src/lib/ipmi/talk.ts";
import { bound, needsFiles } from "./addresses.ts";
import {
  type Bmc,
  type Counts,
  newBmc,
  newCounts,
  type OnOther,
  type OtherCommand,
} from "./bmc.ts";
import { nameOf } from "./commands.ts";
import { handle } from "./handle.ts";
import { newLine, seedFor } from "./line.ts";
import { type BmcOptions, HEALTHY, withOptions } from "./options.ts";

export interface FarmConfig {
  /** Of all faults that have a probability; 1 unless given. */
  readonly seed?: number;
  /** Options that all have, where their own say nothing else. */
  readonly all?: Partial<BmcOptions>;
  /** Each BMC has a free port of 127.0.0.1 in place of its address and port; `at` tells which. */
  readonly local?: boolean;
  readonly bmcs: readonly ({ readonly address: string } & Partial<BmcOptions>)[];
}

export interface BmcPlace {
  readonly address: string;
  readonly port: number;
}

/**
 * Starts all BMCs; resolves when each is bound. They can be read and not switched.
 * @param onOther answers commands the BMCs do not know; every one is noted, whatever it answers
 * @param clock of delays and of sessions that time out
 * @throws Error for an address in use, or too few open files allowed
 */
export async function startFarm(
  config: FarmConfig,
  onOther?: OnOther,
  clock: Timers = SYSTEM_CLOCK,
) {
  const commands: OtherCommand[] = [];
  const noted: OnOther = (bmc, session, request) => {
    const data = request.data.toString("hex");
    const user = session?.user?.name ?? "";
    const command = nameOf(request);
    commands.push({ address: bmc.address, at: Date.now(), command, data, user });
    return onOther?.(bmc, session, request);
  };
  const base = withOptions(HEALTHY, config.all ?? {});
  const bmcs = new Map<string, Bmc>();
  for (const { address, ...own } of config.bmcs)
    bmcs.set(address, newBmc(address, withOptions(base, own), noted));
  const sockets = await openAll([...bmcs.values()], config.local ?? false);
  for (const bmc of bmcs.values()) answer(bmc, sockets, config.seed ?? 1, clock);
  const at = (address: string): Bmc => {
    const bmc = bmcs.get(address);
    if (bmc === undefined) throw new Error(`no BMC has the address ${address}`);
    return bmc;
  };
  return {
    /** Where its datagrams go: its own address and port unless the farm is local. */
    at: (address: string): BmcPlace => {
      const { port } = at(address).options;
      const { address: own, port: bound } = sockets.get(key(address, port))?.address() ?? {};
      return { address: own ?? address, port: bound ?? port };
    },
    power: (address: string) => at(address).power,
    /** Changes some options from now on; `busy` counts again from there. Not port or `closed`. */
    change: (address: string, options: Partial<BmcOptions>) => {
      const bmc = at(address);
      bmc.options = withOptions(bmc.options, options);
      if (options.busy !== undefined) bmc.busyLeft = options.busy?.times ?? 0;
    },
    /** Every command since the start that does more than read or open and close a session. */
    commands: (): readonly OtherCommand[] => [...commands],
    /** Of one BMC, or of all together. */
    counts: (address?: string) => total(address === undefined ? [...bmcs.values()] : [at(address)]),
    /** Sessions open now, half open and idle ones too. */
    sessions: (address: string) => at(address).sessions.size,
    close: () => {
      for (const socket of sockets.values()) socket.close();
      sockets.clear();
    },
  };
}

export type Farm = Awaited<ReturnType<typeof startFarm>>;

/**
 * One socket for each BMC that has its port open. Of a local farm a BMC with a closed port has one,
 * too, so that no other process gets its port.
 */
async function openAll(bmcs: readonly Bmc[], local: boolean): Promise<Map<string, Socket>> {
  const own = bmcs.filter(({ options: { closed } }) => local || !closed);
  const places = new Map(
    [...own.map(({ address, options: { port } }) => ({ address, port }))].map((place) => [
      key(place.address, place.port),
      place,
    ]),
  );
  needsFiles(places.size);
  const sockets = new Map<string, Socket>();
  try {
    for (const [name, { address, port }] of places)
      sockets.set(name, await (local ? bound("127.0.0.1", 0) : bound(address, port)));
    for (const { address, options } of own)
      if (options.closed) await hearNobody(sockets.get(key(address, options.port)));
  } catch (error) {
    for (const socket of sockets.values()) socket.close();
    throw error;
  }
  return sockets;
}

/** A socket that is connected to itself: to all others the system says that its port is closed. */
async function hearNobody(socket: Socket | undefined): Promise<void> {
  if (socket === undefined) return;
  const { address, port } = socket.address();
  const connected = once(socket, "connect");
  socket.connect(port, address);
  await connected;
}

function answer(bmc: Bmc, sockets: ReadonlyMap<string, Socket>, seed: number, clock: Timers): void {
  const { address } = bmc;
  const place = key(address, bmc.options.port);
  const line = newLine(bmc, seeded(seedFor(seed, address)), clock);
  sockets.get(place)?.on("message", (datagram, peer) => {
    if (bmc.options.dead || !line.lets()) return;
    bmc.counts.received++;
    const reply = handle(bmc, datagram, clock.now());
    // The farm may have been closed when a delayed answer goes out.
    const send = (bytes: Buffer): void => sockets.get(place)?.send(bytes, peer.port, peer.address);
    if (reply !== null) line.carry(reply, send);
  });
}

function key(address: string, port: number): string {
  return `${address} ${port}`;
}

function total(bmcs: readonly Bmc[]): Counts {
  const sum = newCounts();
  // The names of an object of this type are its keys, which Object.keys does not tell.
  for (const name of Object.keys(sum) as (keyof Counts)[])
    for (const { counts } of bmcs) sum[name] += counts[name];
  return sum;
}
