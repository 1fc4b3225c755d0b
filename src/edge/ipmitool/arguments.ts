import type { PowerLevel, PowerQuestion } from "../../model/power.ts";

/** How the conductor of a release calls ipmitool. */
export interface IpmitoolOptions {
  readonly release: "juno" | "current";
  readonly level: PowerLevel;
  /** driver_info.ipmi_cipher_suite; null lets ipmitool choose. Juno knows none. */
  readonly suite: number | null;
  /** Name or path of the program. */
  readonly program: string;
}

export const IPMITOOL_DEFAULTS: IpmitoolOptions = {
  release: "current",
  level: "ADMINISTRATOR",
  suite: null,
  program: "ipmitool",
};

/**
 * The conductor's own arguments. No secret is among them: a Kg comes by the environment (`-K`),
 * where the conductor has it in hex on the command line.
 *
 * @source ironic/drivers/modules/ipmitool.py; facts/ipmi.md 5.1 and, for 2014.2, 5.2
 */
export function ipmitoolArguments(
  { address, port, user, kg }: PowerQuestion,
  file: string,
  { release, level, suite }: IpmitoolOptions,
): readonly string[] {
  const login = ["-I", "lanplus", "-H", address, "-L", level];
  const named = user === "" ? [] : ["-U", user];
  const last = ["-f", file, "power", "status"];
  // Sixty seconds in all, five for each try: 12 tries by ipmitool, or, later, by Ironic itself.
  if (release === "juno") return [...login, ...named, "-R", "12", "-N", "5", ...last];
  return [
    ...login,
    ...(port === undefined ? [] : ["-p", String(port)]),
    ...named,
    ...(kg === undefined ? [] : ["-K"]),
    ...(suite === null ? [] : ["-C", String(suite)]),
    ...["-R", "1", "-N", "5", ...last],
  ];
}
