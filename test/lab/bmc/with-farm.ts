import type { TestContext } from "node:test";
import { freeAddresses, whyNot623 } from "./addresses.ts";
import { type Farm, startFarm } from "./farm.ts";
import type { BmcOptions } from "./options.ts";

/** One BMC on an address of its own at port 623, ended with its test. */
export interface Lone extends Farm {
  readonly address: string;
}

type Test = Pick<TestContext, "after" | "skip">;

/** Null after the test was told to skip itself, as it may not bind port 623. */
export async function withBmc(t: Test, options: Partial<BmcOptions> = {}): Promise<Lone | null> {
  const farm = await withBmcs(t, [options]);
  const [address] = farm?.addresses ?? [];
  return farm === null || address === undefined ? null : { ...farm, address };
}

/** One BMC for each of these options, in their order. Null as above. */
export async function withBmcs(
  t: Test,
  all: readonly Partial<BmcOptions>[],
): Promise<(Farm & { readonly addresses: readonly string[] }) | null> {
  const why = await whyNot623();
  if (why !== null) {
    t.skip(why);
    return null;
  }
  const addresses = await freeAddresses(all.length);
  const farm = await startFarm({
    bmcs: addresses.map((address, at) => ({ address, ...all[at] })),
  });
  t.after(farm.close);
  return { ...farm, addresses };
}
