interface Drawn {
  readonly width: number;
  readonly colour: boolean;
}

/** Terminal escapes: on, off. */
const STYLES = { done: [32, 39], now: [1, 22], later: [2, 22] } as const;

/** With marks for terminals without color: `✔ extract power  ▶ plan  · check apply`. */
export function stageList(stages: readonly string[], at: number, drawn: Drawn): readonly string[] {
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
