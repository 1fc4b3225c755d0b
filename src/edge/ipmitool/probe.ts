import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type PowerLevel,
  type PowerOutcome,
  type PowerProbe,
  type PowerQuestion,
  type PowerReading,
  type PowerVerdict,
  unasked,
} from "../../model/power.ts";
import { isCut, whyNotAddress, whyNotUser } from "../ipmi/index.ts";
import { type Run, runProgram } from "../process/run.ts";
import { onSocket } from "./own-socket.ts";
import { withPasswordFile } from "./password-file.ts";

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

/** Milliseconds the conductor leaves between two commands to one BMC. */
const GAP = 5000;
/** Milliseconds from when all is to stop until one that still runs is killed. */
const ENDING = 2000;

/** Asks BMCs as the conductor does, by ipmitool: a second opinion. */
export function ipmitoolProbe(given: IpmitoolOptions = IPMITOOL_DEFAULTS): PowerProbe {
  return async (question, { deadline, signal }) => {
    const { suite = given.suite, level = given.level } = question;
    const options = { ...given, suite, level };
    const begun = { date: new Date(), client: "ipmitool" as const };
    const cannot = unusable(question, options);
    if (cannot !== null) {
      return unasked(question, begun, { verdict: "incomplete", detail: cannot });
    }
    const start = performance.now();
    const elapsed = (): number => performance.now() - start;
    let before: Result | null = null;
    for (let attempts = 1; ; attempts++) {
      const ended = await withPasswordFile(question.password(), (path, read) =>
        runOnce(question, options, { path, read }, { timeout: deadline - elapsed(), signal }),
      );
      const cut = ended.status === null;
      const result: Result = (cut ? before : null) ?? readRun(ended);
      if ("power" in result || cut || !mayPass(result) || elapsed() + GAP >= deadline) {
        const reading = unasked(question, begun, asVerdict(result));
        return {
          ...reading,
          ...known(question, result, options),
          attempts,
          elapsed: Math.round(elapsed()),
        };
      }
      before = result;
      await sleep(GAP, undefined, { signal });
    }
  };
}

type Result = ReturnType<typeof readRun>;

function asVerdict(result: Result): PowerOutcome {
  return "power" in result ? { verdict: "ok", detail: `power is ${result.power}` } : result;
}

function known(
  question: PowerQuestion,
  result: Result,
  { level, suite }: IpmitoolOptions,
): Partial<PowerReading> {
  const warnings = isCut(question.password()) ? (["N2I-D626"] as const) : [];
  if (!("power" in result)) return { warnings };
  return { power: result.power, privilege: level, suite, warnings };
}

/** Why ipmitool cannot be asked this; null when it can. */
function unusable({ address, user, kg }: PowerQuestion, options: IpmitoolOptions): string | null {
  if (address === "" || address.includes("\0")) return "the address of the BMC cannot be used";
  const why = whyNotAddress(address) ?? whyNotUser(user);
  if (why !== null) return why;
  const printable = kg === undefined || kg().every((byte) => byte > 0x20 && byte < 0x7f);
  if (!printable) return "ipmitool takes only a Kg of plain characters without showing it";
  return kg !== undefined && options.release === "juno" ? "Juno's ironic knows no Kg" : null;
}

function runOnce(
  question: PowerQuestion,
  options: IpmitoolOptions,
  file: { readonly path: string; readonly read: () => void },
  { timeout, signal }: { readonly timeout: number; readonly signal: AbortSignal },
): Promise<Run> {
  const kg = question.kg === undefined ? null : Buffer.from(question.kg()).toString("latin1");
  return runProgram(
    {
      ...{ name: "ipmitool", program: options.program },
      args: ipmitoolArguments(question, file.path, options),
      environment: kg === null ? {} : { IPMI_KGKEY: kg },
      fix: "Install the package ipmitool, or ask with --ipmi-client native.",
    },
    // Whoever is killed in a session leaves it open, so it has a moment to come to its end.
    {
      ...{ deadline: Math.ceil(timeout), signal, ending: ENDING },
      started: (pid) => onSocket(pid, file.read),
    },
  );
}

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

/** Its texts, the telling ones first. @source ipmitool 1.8.19 src/plugins/lanplus; facts/ipmi.md 5.1 */
const TEXTS: readonly (readonly [RegExp, PowerVerdict])[] = [
  [/insufficient resources for session/i, "no-slots"],
  // Lost datagrams, or a BMC that does not answer a name it does not know.
  [/no response from RAKP \d message/i, "silent"],
  [/no matching cipher suite|Unsupported cipher suite ID|invalid \w+ algorithm/i, "cipher-refused"],
  [/unauthorized name|invalid name length|Username is too long/i, "wrong-user"],
  [/RAKP 2 HMAC is invalid|invalid integrity check value/i, "wrong-password"],
  [
    /invalid role|unauthorized role|Set Session Privilege Level to \w+ failed/i,
    "privilege-refused",
  ],
  [/Node busy|Out of space|BMC initialization in progress|failed: Timeout/i, "busy"],
  [/Address lookup for .* failed|Could not open socket/i, "unreachable"],
  [/Get Chassis Power Status failed|Unable to get Chassis Power Status/i, "protocol-error"],
];

/** With -N 5 and -R 1 a BMC that never answers takes ten seconds. Milliseconds. */
const SILENCE = 9500;

/** `on`, `off`, or why not. Its words are exact: the conductor takes no others. */
export function readRun(
  run: Pick<Run, "status" | "stdout" | "stderr" | "took">,
): { readonly power: "on" | "off" } | PowerOutcome {
  if (run.stdout === "Chassis Power is on\n") return { power: "on" };
  if (run.stdout === "Chassis Power is off\n") return { power: "off" };
  // Not `unreachable`, however short the deadline: a BMC that ignores the question for its suites
  // answers after five seconds, so that before ten nobody knows whether one is silent.
  if (run.status === null)
    return {
      verdict: "deadline",
      detail: "ipmitool had no answer when time was over; of a silent BMC it says so after 10 s",
    };
  for (const [pattern, verdict] of TEXTS) {
    const [words] = pattern.exec(run.stderr) ?? [];
    if (words !== undefined) return { verdict, detail: `ipmitool says: ${words}` };
  }
  if (!/Unable to establish/.test(run.stderr))
    return { verdict: "protocol-error", detail: `ipmitool ends with ${run.status}, unexplained` };
  return run.took >= SILENCE
    ? { verdict: "unreachable", detail: "ipmitool got no answer" }
    : { verdict: "no-session", detail: "ipmitool opens no session and does not say why" };
}

/** Failures the conductor tries again within its time, of those that may pass. */
export function mayPass({ verdict }: PowerOutcome): boolean {
  return verdict === "no-slots" || verdict === "busy" || verdict === "silent";
}
