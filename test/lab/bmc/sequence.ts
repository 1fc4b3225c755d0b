import type { Seen } from "./bmc.ts";

/**
 * What is seen after this sequence number; null when it came before, is 0, or is more than 15 away
 * from the highest: then the packet is dropped.
 *
 * @source ipmi_sim accepts 16 below to 15 above for 2.0 sessions (openipmi, lanserv_ipmi.c)
 */
export function accept({ highest, bits }: Seen, sequence: number): Seen | null {
  if (sequence === 0) return null;
  const ahead = (sequence - highest) | 0;
  if (ahead > 15 || ahead < -15) return null;
  if (ahead > 0) return { highest: sequence, bits: ((bits << ahead) | 1) & 0xffff };
  const bit = 1 << -ahead;
  return (bits & bit) === 0 ? { highest, bits: bits | bit } : null;
}

/** The next number to send; 0 is skipped. */
export function next(sequence: number): number {
  return sequence === 0xffff_ffff ? 1 : sequence + 1;
}
