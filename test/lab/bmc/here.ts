import type { BmcAt } from "../../../src/model/power.ts";

/** BMCs that are simulated in this process, by /24: commands that run in it find them. */
const nets = new Map<number, BmcAt>();

/** Of 198.18.0.0/15, which no network in use has. @source RFC 2544 */
const NETS = 512;

/** So many addresses of one /24 that no other BMC of this process has, until they are given back. */
export function takeAddresses(count: number, at: BmcAt) {
  let net = 0;
  while (nets.has(net)) net++;
  if (count > 254 || net >= NETS) throw new Error(`there are no ${count} addresses for BMCs`);
  nets.set(net, at);
  const addresses = Array.from({ length: count }, (_, one) => `${netOf(net)}.${one + 1}`);
  return { addresses, giveBack: () => void nets.delete(net) };
}

export const bmcAt: BmcAt = (address) => {
  for (const [net, at] of nets) if (address.startsWith(`${netOf(net)}.`)) return at(address);
  return undefined;
};

function netOf(net: number): string {
  return `198.${18 + Math.floor(net / 256)}.${net % 256}`;
}
