import type { TestContext } from "node:test";
import { type BmcOptions, type Farm, freeAddresses, startFarm } from "../../support/bmc/index.ts";
import { takeAddresses } from "./here.ts";
import { CLOCK } from "./quick-clock.ts";
import { type PowerCommand, switching } from "./switching.ts";

export interface Switched extends Omit<Farm, "commands"> {
  /** Every command since the start that could change power, oldest first. */
  readonly commands: () => readonly PowerCommand[];
  /** Those and all others that do more than read: what the farm itself noted. */
  readonly others: Farm["commands"];
}

type Test = Pick<TestContext, "after">;

/**
 * Where BMCs are: "here", for commands that run in this process; "port 623", of loopback addresses,
 * for other programs, which needs root and Linux.
 */
export type Where = "here" | "port 623";

export async function withBmc(t: Test, options: Partial<BmcOptions> = {}, where: Where = "here") {
  const farm = await withBmcs(t, [options], where);
  const [address] = farm.addresses;
  if (address === undefined) throw new Error("a farm of one has an address");
  return { ...farm, address };
}

/** One BMC for each of these options, in their order. */
export async function withBmcs(
  t: Test,
  all: readonly Partial<BmcOptions>[],
  where: Where = "here",
): Promise<Switched & { readonly addresses: readonly string[] }> {
  const here = where === "here";
  const { addresses, giveBack } = here
    ? takeAddresses(all.length, (address) => farm.at(address))
    : { addresses: await freeAddresses(all.length), giveBack: () => undefined };
  const commands: PowerCommand[] = [];
  const farm = await startFarm(
    { local: here, bmcs: addresses.map((address, at) => ({ address, ...all[at] })) },
    switching((command) => commands.push(command)),
    here ? CLOCK.clock : undefined,
  );
  t.after(() => {
    giveBack();
    farm.close();
  });
  return { ...farm, commands: () => [...commands], others: farm.commands, addresses };
}
