import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { program } from "../../src/run/files/package-root.ts";
import { batchesHere } from "../support/batches.ts";
import { type Ran, runHere, runOnTerminal } from "../support/in-process.ts";

export type { Ran } from "../support/in-process.ts";

/** The program itself, for tests of what only a process has. */
export const MAIN = program();

/** The checkout: a build outside of it finds mappings/ from its working directory. */
const HOME = process.cwd();

export interface Started {
  readonly pid: number;
  /** Resolves when stderr has the text; rejects when the process ended without it. */
  readonly said: (text: string) => Promise<void>;
  /** The same for a pattern: what it found. */
  readonly heard: (pattern: RegExp) => Promise<RegExpExecArray>;
  readonly signal: (name: NodeJS.Signals) => void;
  /** From here on nobody reads these. */
  readonly unread: (...streams: readonly ("stdout" | "stderr")[]) => void;
  readonly ended: Promise<Ran>;
}

interface Options {
  readonly cwd?: string;
  readonly env?: { readonly [name: string]: string };
  readonly uid?: number;
  /** Bytes for stdin; closed at once without them. */
  readonly input?: string;
  /** Runs apply or rollback without the word that leaves Nova, to see it refused. */
  readonly bare?: boolean;
}

/** Ends a process that hangs, in milliseconds. */
const PATIENCE = 300_000;

/**
 * Acting on Ironic alone wants the operator's word, and so does a plan without the Nova that extract had;
 * tests of other things let it be said here.
 */
export function leavingNova(words: readonly string[]): readonly string[] {
  const [command] = words;
  const said = words.some((word) => /^--(nova-db|leave-nova)\b/.test(word));
  const named = words.some((word) => /^--(ironic-db|via|os-cloud|ironic-url)\b/.test(word));
  if (command === "plan" && named && !said && !words.includes("--config"))
    return [...words, "--without", "nova-db"];
  return (command === "apply" || command === "rollback") && !said
    ? [...words, "--leave-nova"]
    : words;
}

const QUESTION = /Type ("yes" to continue|the database's name, \S+): /;

/** Runs the tool on a terminal and types an answer to its question. */
export function onTerminal(words: readonly string[], answer: string): Promise<Ran> {
  return runOnTerminal(leavingNova(words), answer, QUESTION);
}

export function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
}

export function start(words: readonly string[], options: Options = {}): Started {
  const told = options.bare === true ? words : leavingNova(words);
  return startProgram(process.execPath, [MAIN, ...told], options);
}

/** The same for another program: a shell, or `script`, around the tool. */
export function startProgram(
  program: string,
  words: readonly string[],
  { cwd = HOME, env = {}, uid, input }: Options = {},
): Started {
  const child: ChildProcess = spawn(program, words, {
    cwd,
    env: { PATH: process.env.PATH ?? "", ...batchesHere(), ...env },
    stdio: ["pipe", "pipe", "pipe"],
    timeout: PATIENCE,
    killSignal: "SIGKILL",
    ...(uid !== undefined && { uid, gid: uid }),
  });
  let [out, err] = ["", ""];
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  // A child that ended before it read is no failure of the test.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(input ?? "");
  const ended = new Promise<Ran>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      resolve({ status: code ?? (signal === null ? 1 : 128), out, err });
    });
  });
  const listening = new Set<() => void>();
  child.stderr?.on("data", () => {
    for (const look of listening) look();
  });
  const heard = <T>(find: (all: string) => T | null, what: string): Promise<T> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = find(err);
        if (found !== null) resolve(found);
      };
      listening.add(look);
      look();
      void ended.then(() => reject(new Error(`it never said ${what}: ${err}`)), reject);
    });
  return {
    pid: child.pid ?? 0,
    ended,
    signal: (name) => child.kill(name),
    unread(...streams) {
      for (const name of streams) child[name]?.destroy();
    },
    async said(text) {
      await heard((all) => (all.includes(text) ? true : null), text);
    },
    heard: (pattern) => heard((all) => pattern.exec(all), String(pattern)),
  };
}

/** Variables of the process itself, and of the programs and libraries under it. */
const OF_PROCESS = /^(HOME|PATH|TMPDIR|TZ|LANG|LC_.*|TERM|NODE_.*|NOVA2IRONIC_.*|SS[HL]_.*)$/;

/** Runs the tool to its end, in this process unless the options are about one. */
export function run(words: readonly string[], options: Options = {}): Promise<Ran> {
  const { bare = false, env = {}, ...process } = options;
  const own = !Object.keys(env).some((name) => OF_PROCESS.test(name));
  if (Object.keys(process).length > 0 || !own) return start(words, options).ended;
  return runHere(bare ? words : leavingNova(words), env);
}

export async function ends(status: number, running: Promise<Ran>): Promise<Ran> {
  const ran = await running;
  assert.equal(ran.status, status, `${ran.out}${ran.err}`);
  return ran;
}

/** Starts the tool, which is killed at a place: `POINT:N`, the Nth time that it passes there. */
export function killedAt(
  point: string,
  words: readonly string[],
  env: { readonly [name: string]: string } = {},
): Promise<Ran> {
  const dies = { ...env, NOVA2IRONIC_FAILPOINT: `${point}:kill` };
  return ends(128, start(words, { env: dies }).ended);
}

/** Starts the tool and waits until it pauses at a place, as `killedAt` names it; SIGUSR2 has it go on. */
export async function pausedAt(
  point: string,
  words: readonly string[],
  env: { readonly [name: string]: string } = {},
): Promise<Started> {
  const started = start(words, { env: { ...env, NOVA2IRONIC_FAILPOINT: `${point}:pause` } });
  await started.said(`failpoint ${point.split(":")[0]}`);
  return started;
}

export async function runs(status: number, words: readonly string[], options: Options = {}) {
  const ran = await run(words, options);
  assert.equal(ran.status, status, `${words.join(" ")}\n${ran.out}${ran.err}`);
  return ran;
}

/**
 * A refusal as an operator deserves it: the status, one code, one paragraph of at most six lines,
 * with its fix, no trace of the stack and nothing on stdout.
 */
export function assertRefusal(ran: Ran, status: number, code: string, ...saying: RegExp[]): void {
  const told = `exit ${ran.status}\n${ran.err}${ran.out}`;
  assert.equal(ran.status, status, told);
  assert.deepEqual(ran.err.match(/^ERROR N2I-E\d{3} /gm), [`ERROR ${code} `], told);
  assert.match(ran.err, /^Fix: \S.*\n$/m, told);
  assert.doesNotMatch(ran.err, /^\s+at |Error:|node:internal|\.js:\d+/m, told);
  assert.ok(ran.err.trimEnd().split("\n").length <= 6, told);
  assert.equal(ran.out, "", told);
  for (const words of saying) assert.match(ran.err, words, told);
}

export async function refused(
  words: readonly string[],
  status: number,
  code: string,
  saying: readonly RegExp[] = [],
  options: Options = {},
): Promise<Ran> {
  const ran = await run(words, options);
  assertRefusal(ran, status, code, ...saying);
  return ran;
}
