import { visible } from "../../lib/table/text.ts";
import type { Output } from "../io.ts";

/** listr2 respects NO_COLOR. @param work draws its progress */
export async function drawStage<T>(
  stream: Output,
  title: string,
  work: (draw: (text: string) => void) => Promise<T>,
  isInterrupted: () => boolean,
): Promise<T> {
  // Needed only on a terminal.
  const { Listr, ListrLogger, ProcessOutput } = await import("listr2");
  const task = async (
    context: { result: T },
    drawn: { output: string; readonly skip: (reason: string) => void },
  ): Promise<void> => {
    context.result = await work((text) => {
      drawn.output = visible(text);
    });
    if (isInterrupted()) drawn.skip("interrupted");
  };
  // A terminal has all that listr2 needs. listr2 would write to stdout, which is for the result.
  const terminal = stream as NodeJS.WriteStream;
  const logger = new ListrLogger({ processOutput: new ProcessOutput(terminal, terminal) });
  const { result } = await new Listr<{ result: T }>([{ title: visible(title), task }], {
    concurrent: false,
    exitOnError: true,
    registerSignalListeners: false,
    // listr2 checks stdout, which may be a file, but draws on stderr.
    forceTTY: true,
    fallbackRendererCondition: false,
    rendererOptions: { logger, showErrorMessage: false },
  }).run();
  return result;
}

/** Mark, for terminals without color, and escapes: on, off. */
const STYLES = { done: ["✔", 32, 39], now: ["▶", 1, 22], later: ["·", 2, 22] } as const;

/** `✔ extract power  ▶ plan  · check apply`, in lines. */
export function stageList(
  stages: readonly string[],
  at: number,
  drawn: { readonly width: number; readonly colour: boolean },
): readonly string[] {
  const lines: { width: number; styled: string }[] = [];
  for (const [index, name] of stages.entries()) {
    const [mark, on, off] = STYLES[index < at ? "done" : index > at ? "later" : "now"];
    const begins = [0, at, at + 1].includes(index);
    const text = begins ? `${mark} ${name}` : name;
    const styled = drawn.colour ? `\x1b[${on}m${text}\x1b[${off}m` : text;
    const gap = begins ? "  " : " ";
    const last = lines.at(-1);
    if (last === undefined || last.width + gap.length + text.length >= drawn.width)
      lines.push({ width: text.length, styled });
    else {
      last.width += gap.length + text.length;
      last.styled += gap + styled;
    }
  }
  return lines.map(({ styled }) => styled);
}
