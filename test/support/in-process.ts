import { Readable, Writable } from "node:stream";
import type { Io } from "../../src/cli/io.ts";

export interface Ran {
  /** 128 + n after signal n, as a shell says it. */
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

/** What yargs prints by itself, and ends the process. */
const ENDS = /^(--help|-h|--version|--get-yargs-completions|completion|help)$/;

/** Whether a command line can be run without a process of its own. */
export function isCommand(words: readonly string[]): boolean {
  return words.length > 0 && !words.some((word) => ENDS.test(word));
}

let [under, before] = [0, 0];

/**
 * Runs the tool in this process, as main does: without a terminal, and with nothing of our
 * environment but PATH besides these variables. For what only a process has (signals, a death, another user), start one.
 */
export async function runHere(
  words: readonly string[],
  env: { readonly [name: string]: string } = {},
): Promise<Ran> {
  const { run } = await import("../../src/cli/program.ts");
  const [out, err] = [collector(), collector()];
  const world: Io = {
    ...{ words, stdin: Readable.from([]), stdout: out.stream, stderr: err.stream },
    ...{ env: { PATH: process.env.PATH, ...env }, cwd: () => process.cwd(), status: undefined },
  };
  if (under === 0) before = process.umask(0o077);
  under += 1;
  try {
    return { status: await run(world), out: out.text(), err: err.text() };
  } finally {
    under -= 1;
    if (under === 0) process.umask(before);
  }
}

function collector(): { readonly stream: Writable; readonly text: () => string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString("utf8") };
}
