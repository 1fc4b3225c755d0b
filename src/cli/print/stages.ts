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

/** Terminal escapes: on, off. */
const STYLES = { done: [32, 39], now: [1, 22], later: [2, 22] } as const;

/** With marks for terminals without color: `✔ extract power  ▶ plan  · check apply`. */
export function stageList(
  stages: readonly string[],
  at: number,
  drawn: { readonly width: number; readonly colour: boolean },
): readonly string[] {
  const groups = [
    { style: "done", mark: "✔", names: stages.slice(0, at) },
    { style: "now", mark: "▶", names: stages.slice(at, at + 1) },
    { style: "later", mark: "·", names: stages.slice(at + 1) },
  ] as const;
  const entries = groups.flatMap(({ style, mark, names }) =>
    names.map((name, among) => {
      const begins = among === 0;
      return { style, begins, text: begins ? `${mark} ${name}` : name };
    }),
  );
  const lines: { text: string; styled: string }[] = [];
  for (const { style, begins, text } of entries) {
    const last = lines.at(-1);
    const gap = begins ? "  " : " ";
    const [on, off] = STYLES[style];
    const styled = drawn.colour ? `\x1b[${on}m${text}\x1b[${off}m` : text;
    if (last === undefined || last.text.length + gap.length + text.length >= drawn.width)
      lines.push({ text, styled });
    else {
      last.text += gap + text;
      last.styled += gap + styled;
    }
  }
  return lines.map(({ styled }) => styled);
}
