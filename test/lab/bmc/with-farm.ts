import type { TestContext } from "node:test";
import {
  type BmcOptions,
  type Farm,
  freeAddresses,
  startFarm,
} from "../../../src/edge/ipmi/testing/index.ts";
import { type PowerCommand, switching } from "./switching.ts";

/** BMCs that can be switched, too. */
export interface Switched extends Omit<Farm, "commands"> {
  /** Every command since the start that could change power, oldest first. */
  readonly commands: () => readonly PowerCommand[];
  /** Those and all others that do more than read: what the farm itself noted. */
  readonly others: Farm["commands"];
}

/** One BMC on an address of its own at port 623, ended with its test. */
export interface Lone extends Switched {
  readonly address: string;
}

type Test = Pick<TestContext, "after">;

export async function withBmc(t: Test, options: Partial<BmcOptions> = {}): Promise<Lone> {
  const farm = await withBmcs(t, [options]);
  const [address] = farm.addresses;
  if (address === undefined) throw new Error("a farm of one has an address");
  return { ...farm, address };
}

/** One BMC for each of these options, in their order. */
export async function withBmcs(
  t: Test,
  all: readonly Partial<BmcOptions>[],
): Promise<Switched & { readonly addresses: readonly string[] }> {
  const addresses = await freeAddresses(all.length);
  const commands: PowerCommand[] = [];
  const bmcs = addresses.map((address, at) => ({ address, ...all[at] }));
  const farm = await startFarm(
    { bmcs },
    switching((command) => commands.push(command)),
  );
  t.after(farm.close);
  return { ...farm, commands: () => [...commands], others: farm.commands, addresses };
}
