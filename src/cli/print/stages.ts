import { visible } from "../../lib/table/text.ts";
import type { Output } from "../io.ts";

interface Drawn {
  output: string;
  readonly skip: (why: string) => void;
}

/**
 * Runs a stage that a terminal shows; its error is thrown as it is. listr2 itself leaves colours out when NO_COLOR is set.
 *
 * @param run reports its progress, which the terminal shows in one line. It returns false if the stage was interrupted
 */
export async function drawStage(
  stream: Output,
  title: string,
  run: (report: (text: string) => void) => Promise<boolean>,
): Promise<void> {
  // Loaded for a terminal only.
  const { Listr, ListrLogger, ProcessOutput } = await import("listr2");
  const task = async (_: unknown, drawn: Drawn): Promise<void> => {
    const isDone = await run((text) => {
      drawn.output = visible(text);
    });
    if (!isDone) drawn.skip("interrupted");
  };
  // A terminal has all that listr2 asks of a stream. Its own default is stdout, which is for the result.
  const terminal = stream as NodeJS.WriteStream;
  const logger = new ListrLogger({ processOutput: new ProcessOutput(terminal, terminal) });
  await new Listr([{ title: visible(title), task }], {
    concurrent: false,
    exitOnError: true,
    registerSignalListeners: false,
    // It looks at stdout, which may be a file while the list is drawn on stderr.
    forceTTY: true,
    fallbackRendererCondition: false,
    rendererOptions: { logger, showErrorMessage: false },
  }).run();
}
