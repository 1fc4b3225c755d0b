/**
 * BMCs to test against: they answer IPMI 2.0 and 1.5 on UDP sockets, each with the faults it is
 * given. Written from the specification and not from the client beside it, so that the one can
 * prove the other; and without any command that switches.
 */
export { freeAddresses } from "./addresses.ts";
export type { Bmc, Counts, OnOther, OtherCommand, SimSession } from "./bmc.ts";
export { type BmcPlace, type Farm, type FarmConfig, startFarm } from "./farm.ts";
export { type BmcOptions, HEALTHY, type Privilege, type User } from "./options.ts";
export type { SimAnswer, SimRequest } from "./packet.ts";
