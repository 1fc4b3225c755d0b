import { Readable, Writable } from "node:stream";
import type { Host, Io } from "../../src/cli/io.ts";
import { bmcAt } from "../lab/bmc/here.ts";
import { CLOCK } from "../lab/bmc/quick-clock.ts";

export interface Ran {
  /** 128 + n after signal n, as a shell says it. */
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

let [under, before] = [0, 0];

type Heard = (text: string | Uint8Array) => void;

/** What hears that something is written to the process and not to the command's own streams. */
const hearing = { stdout: new Set<Heard>(), stderr: new Set<Heard>() };

listen("stderr");
// As a runner's child, tests report in bytes on stdout; a library writes text.
if (process.env.NODE_TEST_CONTEXT === "child-v8") listen("stdout");

interface Surrounded extends Partial<Pick<Io, "stdin" | "stdout" | "stderr" | "clock" | "cwd">> {
  readonly host?: Host;
  readonly heard?: (err: string) => void;
}

/**
 * Runs the tool in this process, as main does: without a terminal, and with nothing of our environment but PATH
 * besides these variables. What a library says past the tool is heard as well. For what only a process has (a death,
 * another user), start one.
 * @param options.heard is told all of stderr whenever something is written to it; streams replace the command's own,
 * for example by those of a terminal
 */
export async function runHere(
  words: readonly string[],
  env: { readonly [name: string]: string } = {},
  { host = process, heard, clock, cwd = () => process.cwd(), ...streams }: Surrounded = {},
): Promise<Ran> {
  const { run } = await import("../../src/cli/program.ts");
  const [out, err] = [collector(), collector(heard)];
  const world: Io = {
    ...{ argv: words, stdin: Readable.from([]), stdout: out.stream, stderr: err.stream },
    ...streams,
    ...{ env: { PATH: process.env.PATH, ...env }, cwd, status: undefined },
    ...{ host, bmcAt, ...CLOCK, ...(clock && { clock }) },
  };
  if (under === 0) before = process.umask(0o077);
  under += 1;
  hearing.stdout.add(out.hear);
  hearing.stderr.add(err.hear);
  try {
    return { status: await run(world), out: out.text(), err: err.text() };
  } finally {
    hearing.stdout.delete(out.hear);
    hearing.stderr.delete(err.hear);
    under -= 1;
    if (under === 0) process.umask(before);
  }
}

/** The same from another working directory, which is the process's own until it ends. */
export async function runIn(folder: string, words: readonly string[]): Promise<Ran> {
  const own = process.cwd();
  process.chdir(folder);
  try {
    return await runHere(words);
  } finally {
    process.chdir(own);
  }
}

/**
 * Runs the tool on a terminal in this process. The answer is typed when a question has been asked.
 * Standard output and error are both in `out`.
 */
export async function runOnTerminal(words: readonly string[], answer: string, question: RegExp) {
  const shown = collector();
  const stdin = Object.assign(new Readable({ read() {} }), { isTTY: true });
  let answered = false;
  const screen = new Writable({
    write(chunk: Buffer, _encoding, done) {
      shown.hear(chunk);
      if (!answered && question.test(shown.text())) {
        answered = true;
        stdin.push(answer);
      }
      done();
    },
  });
  const terminal = Object.assign(screen, { isTTY: true, columns: 80 });
  const env = { TERM: "xterm" };
  const { status } = await runHere(words, env, { stdin, stdout: terminal, stderr: terminal });
  return { status, out: shown.text(), err: "" };
}

function listen(name: "stdout" | "stderr"): void {
  const stream = process[name];
  const write = stream.write.bind(stream) as (chunk: string | Uint8Array, ...more: []) => boolean;
  stream.write = (chunk: string | Uint8Array, ...more: readonly unknown[]): boolean => {
    if (name === "stderr" || typeof chunk === "string")
      for (const hear of hearing[name]) hear(chunk);
    return write(chunk, ...(more as []));
  };
}

function collector(told?: (text: string) => void) {
  const chunks: Buffer[] = [];
  const text = (): string => Buffer.concat(chunks).toString("utf8");
  const hear: Heard = (text) => void chunks.push(Buffer.from(text));
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      hear(chunk);
      told?.(text());
      done();
    },
  });
  return { stream, hear, text };
}
