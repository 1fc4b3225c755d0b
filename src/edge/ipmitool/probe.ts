import { spawn } from "node:child_process";
import { once } from "node:events";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { MigrationError } from "../../model/error.ts";
import {
  type PowerProbe,
  type PowerQuestion,
  type PowerReading,
  unasked,
} from "../../model/power.ts";
import { isCut, whyNotAddress, whyNotUser } from "../ipmi/index.ts";
import { atExit } from "../process/at-exit.ts";
import { IPMITOOL_DEFAULTS, type IpmitoolOptions, ipmitoolArguments } from "./arguments.ts";
import { onSocket } from "./own-socket.ts";
import { withPasswordFile } from "./password-file.ts";
import { type IpmitoolRun, mayPass, readRun, type Why } from "./verdict.ts";

/** Milliseconds the conductor leaves between two commands to one BMC. */
const GAP = 5000;
/** Milliseconds from when all is to stop until one that still runs is killed. */
const ENDING = 2000;
/** Characters kept of what it prints. */
const MOST = 8192;

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
      const run = await withPasswordFile(question.password(), (path, read) =>
        runOnce(question, options, { path, read }, { timeout: deadline - elapsed(), signal }),
      );
      const cut = run.status === null;
      const result: Result = (cut ? before : null) ?? readRun(run);
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

function asVerdict(result: Result): Why {
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

async function runOnce(
  question: PowerQuestion,
  options: IpmitoolOptions,
  file: { readonly path: string; readonly read: () => void },
  { timeout, signal }: { readonly timeout: number; readonly signal: AbortSignal },
): Promise<IpmitoolRun> {
  signal.throwIfAborted();
  const started = performance.now();
  const kg = question.kg === undefined ? null : Buffer.from(question.kg()).toString("latin1");
  const child = spawn(options.program, ipmitoolArguments(question, file.path, options), {
    // Nothing else of our environment: there may be secrets in it.
    env: {
      PATH: process.env.PATH ?? "/usr/sbin:/usr/bin:/sbin:/bin",
      LC_ALL: "C",
      ...(kg !== null && { IPMI_KGKEY: kg }),
    },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: Math.max(1, Math.ceil(timeout)),
    killSignal: "SIGKILL",
  });
  // Whoever is killed in a session leaves it open, so it has a moment to come to its end.
  let killing: NodeJS.Timeout | undefined;
  const stop = (): void => {
    killing = setTimeout(() => child.kill("SIGKILL"), ENDING);
  };
  signal.addEventListener("abort", stop, { once: true });
  const gone = atExit(() => void child.kill("SIGKILL"));
  const unwatch = child.pid === undefined ? () => undefined : onSocket(child.pid, file.read);
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (text: string) => {
      texts[name] = (texts[name] + text).slice(0, MOST);
    });
  try {
    const [status] = await once(child, "close");
    signal.throwIfAborted();
    const took = performance.now() - started;
    return { ...texts, status: typeof status === "number" ? status : null, took };
  } catch (cause) {
    signal.throwIfAborted();
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "no code";
    throw new MigrationError("N2I-E400", `ipmitool cannot be run (${code})`, {
      fix: "Install the package ipmitool, or ask with --ipmi-client native.",
    });
  } finally {
    unwatch();
    gone();
    clearTimeout(killing);
    signal.removeEventListener("abort", stop);
  }
}
