/**
 * Reads power states over IPMI 2.0 (lanplus) from one BMC or a fleet. It cannot change them,
 * because its table of commands is closed. This file is the whole public interface. See README.md.
 */
export {
  type BmcLogin,
  type BmcReading,
  type BmcTarget,
  type IpmiClient,
  type Observation,
  openClient,
} from "./ask.ts";
export type { Chassis, Device } from "./commands.ts";
export { type BmcSession, type ConnectOptions, connect } from "./connect.ts";
export { askAll } from "./fleet.ts";
export { type BmcVerdict, IpmiError, type Level } from "./policy.ts";
export { type FleetAnswer, type Reading, SCHEDULE, type Schedule } from "./queue.ts";
export { SESSION_DEFAULTS, type SessionOptions } from "./session.ts";
export type { Limits, Timers } from "./talk.ts";
