import { newBmc } from "../../support/bmc/bmc.ts";
import { handle } from "../../support/bmc/handle.ts";
import {
  type BmcOptions,
  HEALTHY,
  type Privilege,
  withOptions,
} from "../../support/bmc/options.ts";

export const LOGIN = { user: "admin", password: "s3cret-Passw0rd" };

const SIM = withOptions(HEALTHY, {
  ...{ power: true, suites: [3, 17], listed: [0, 3, 17], repeats: "answered" },
});

/** A BMC of the farm without its socket, healthy but for these options. @param now milliseconds */
export function simBmc(options: Partial<BmcOptions> = {}, now = () => 0) {
  const bmc = newBmc("192.0.2.1", withOptions(SIM, options), () => undefined);
  return Object.assign(bmc, {
    /** Sessions that are logged in to. */
    open: () => [...bmc.sessions.values()].filter(({ stage }) => stage === "active").length,
    /** @param port of the sender */
    receive(datagram: Buffer, port = 0): readonly Buffer[] {
      const answer = handle(bmc, datagram, now(), port);
      return answer === null ? [] : [answer];
    },
  });
}

export type SimBmc = ReturnType<typeof simBmc>;

export const busy = (code: number, times: number) => ({ busy: { code, times, command: "00/01" } });

/** A highest level, and what RAKP 2 says of one above; null: nothing, it refuses the level by command. */
export const limited = (limit: Privilege, roleStatus: number | null = 9) => ({
  ...{ users: [{ name: LOGIN.user, password: LOGIN.password, limit }], roleStatus },
});

export const known = (name: string, password = "") => ({ users: [{ name, password }] });

export function hex(text: string): string {
  return Buffer.from(text).toString("hex");
}
