import { visible } from "../../lib/table/text.ts";
import type { Environment } from "../../run/process-context.ts";
import { io, type Output } from "../io.ts";
import { type Now, timestamp } from "./events.ts";
import { duration } from "./progress.ts";

interface Stage {
  readonly title: string;
  /** @param report shows one line of what is being done */
  readonly run: (report: (text: string) => void) => Promise<void>;
}

interface StagesOptions {
  /** Whether the stream is a terminal that can draw over its lines. */
  readonly tty: boolean;
  readonly stream?: Output;
  readonly clock?: Now;
  readonly env?: Environment;
}

/**
 * Runs the stages one after another; the first that fails ends it, and its error is thrown as it
 * is. On a terminal a list is drawn, elsewhere one dated line an event, without control codes.
 */
export async function runStages(
  stages: readonly Stage[],
  { tty, stream = io().stderr, clock = Date.now, env = io().env }: StagesOptions,
): Promise<void> {
  // listr2 wraps at the terminal's width and puts one character on a line when that is 0.
  const drawn = tty && env.TERM !== "dumb" && (stream.columns ?? 0) > 0;
  // A terminal has all that listr2 asks of a stream.
  if (drawn) await draw(stages, stream as NodeJS.WriteStream);
  else await list(stages, stream, clock);
}

/** listr2 itself leaves colours out when NO_COLOR is set. */
async function draw(stages: readonly Stage[], stream: NodeJS.WriteStream): Promise<void> {
  const tasks = stages.map(({ title, run }) => ({
    title: visible(title),
    task: (_: unknown, task: { output: string }): Promise<void> =>
      run((text) => {
        task.output = visible(text);
      }),
  }));
  // Loaded for a terminal only.
  const { Listr, ListrLogger, ProcessOutput } = await import("listr2");
  // Its own default is stdout, which is for the result.
  const logger = new ListrLogger({ processOutput: new ProcessOutput(stream, stream) });
  await new Listr(tasks, {
    concurrent: false,
    exitOnError: true,
    registerSignalListeners: false,
    // It looks at stdout, which may be a file while the list is drawn on stderr.
    forceTTY: true,
    fallbackRendererCondition: false,
    rendererOptions: { logger, showErrorMessage: false },
  }).run();
}

async function list(stages: readonly Stage[], stream: Output, clock: Now): Promise<void> {
  for (const { title, run } of stages) {
    const began = clock();
    const line = (text: string): void => {
      stream.write(`${timestamp(clock())} ${visible(`${title}: ${text}`)}\n`);
    };
    line("started");
    try {
      await run(line);
    } catch (cause) {
      line(`failed (${duration(clock() - began)})`);
      throw cause;
    }
    line(`complete (${duration(clock() - began)})`);
  }
}
