import { SYSTEM_CLOCK, type Timers } from "../../../src/lib/ipmi/talk.ts";
import type { Bmc } from "./bmc.ts";

/** A number from 0 up to, but not including, 1; the same ones again for the same seed. */
type Random = () => number;

/** A seed of its own for a name, so that a BMC's faults do not depend on how many others there are. */
export function seedFor(seed: number, name: string): number {
  let hash = 0x811c9dc5 ^ seed;
  for (const byte of Buffer.from(name)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

const HELD_MS = 100;
const SECOND_COPY_MS = 50;

/** Sends one datagram, now. */
type Send = (datagram: Buffer) => void;

/** @param random the faults follow it, so the same seed makes the same faults in the same order */
export function newLine(bmc: Bmc, random: Random, clock: Timers = SYSTEM_CLOCK) {
  let held: (() => void) | null = null;
  const now = (answer: Buffer, send: Send): void => {
    bmc.counts.sent++;
    send(answer);
    held?.();
  };
  const hold = (answer: Buffer, send: Send): void => {
    const release = (): void => {
      cancel();
      if (held === release) held = null;
      now(answer, send);
    };
    const cancel = clock.after(HELD_MS, release);
    held = release;
  };
  const deliver = (answer: Buffer, send: Send): void => {
    if (held === null && chance(random, bmc.options.reorder)) hold(answer, send);
    else now(answer, send);
  };
  return {
    /** Whether a datagram that arrives reaches the BMC at all. */
    lets: () => {
      if (!chance(random, bmc.options.dropRx)) return true;
      bmc.counts.dropped++;
      return false;
    },
    carry: (answer: Buffer, send: Send): void => {
      const { dropTx, garbage, duplicate, delayMs, late } = bmc.options;
      if (chance(random, garbage)) now(soiled(answer, random), send);
      if (chance(random, dropTx)) {
        bmc.counts.dropped++;
        return;
      }
      const wait = delayMs + (late !== null && chance(random, late.probability) ? late.ms : 0);
      if (wait === 0) deliver(answer, send);
      else clock.after(wait, () => deliver(answer, send));
      if (chance(random, duplicate))
        clock.after(delayMs + random() * SECOND_COPY_MS, () => now(answer, send));
    },
  };
}

/** Never the answer itself: nothing, noise, a part of it, a later version of RMCP, a stranger's. */
function soiled(answer: Buffer, random: Random): Buffer {
  const kind = Math.floor(random() * 5);
  const copy = Buffer.from(answer);
  if (kind === 0) return Buffer.alloc(0);
  if (kind === 1) return Buffer.from(copy.map(() => Math.floor(random() * 256)));
  if (kind === 2) return copy.subarray(0, Math.floor(random() * copy.length));
  if (kind === 3) copy.writeUInt8(7, 0);
  else for (let at = 6; at < copy.length; at++) copy.writeUInt8(copy.readUInt8(at) ^ 0xa5, at);
  return copy;
}

/** Takes no number when there is no chance, so that one fault does not move the others. */
function chance(random: Random, probability: number): boolean {
  return probability > 0 && random() < probability;
}
