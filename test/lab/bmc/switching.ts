import type { Bmc, OnOther, SimAnswer, SimSession } from "../../support/bmc/index.ts";

export interface PowerCommand {
  readonly address: string;
  readonly command: (typeof ACTIONS)[number];
  readonly user: string;
}

const ACTIONS = ["off", "on", "cycle", "reset", "nmi", "soft"] as const;

/**
 * Chassis Control, which the farm does not know, as a BMC has it: for clients of others, which can
 * switch. Each that may is noted.
 */
export function switching(noted: (command: PowerCommand) => void): OnOther {
  return (bmc, session, { netFn, command, data }) =>
    session === null || netFn !== 0x00 || command !== 0x02
      ? undefined
      : control(bmc, session, data[0] ?? -1, noted);
}

function control(
  bmc: Bmc,
  { privilege, user }: SimSession,
  action: number,
  noted: (command: PowerCommand) => void,
): SimAnswer {
  const command = ACTIONS[action];
  if (command === undefined) return [0xcc];
  if (privilege < 3) return [0xd4];
  noted({ address: bmc.address, command, user: user?.name ?? "" });
  if (!bmc.power && (command === "cycle" || command === "reset")) return [0xd5];
  if (command === "on") bmc.power = true;
  if (command === "off" || command === "soft") bmc.power = false;
  return [0];
}
