import { visible } from "../../lib/table/text.ts";
import type { Output } from "../io.ts";

interface Drawn {
  output: string;
  readonly skip: (reason: string) => void;
}

/** listr2 respects NO_COLOR. @param run reports progress, and returns false if interrupted */
export async function drawStage(
  stream: Output,
  title: string,
  run: (report: (text: string) => void) => Promise<boolean>,
): Promise<void> {
  // Needed only on a terminal.
  const { Listr, ListrLogger, ProcessOutput } = await import("listr2");
  const task = async (_: unknown, drawn: Drawn): Promise<void> => {
    const isDone = await run((text) => {
      drawn.output = visible(text);
    });
    if (!isDone) drawn.skip("interrupted");
  };
  // A terminal has all that listr2 needs. listr2 would write to stdout, which is for the result.
  const terminal = stream as NodeJS.WriteStream;
  const logger = new ListrLogger({ processOutput: new ProcessOutput(terminal, terminal) });
  await new Listr([{ title: visible(title), task }], {
    concurrent: false,
    exitOnError: true,
    registerSignalListeners: false,
    // listr2 checks stdout, which may be a file, but draws on stderr.
    forceTTY: true,
    fallbackRendererCondition: false,
    rendererOptions: { logger, showErrorMessage: false },
  }).run();
}
