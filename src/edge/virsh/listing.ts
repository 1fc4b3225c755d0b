/** What the remote line printed, taken apart at our own lines. */
export interface Listed {
  /** Whether it came to its end. */
  readonly end: "end" | "missing" | "failed" | null;
  readonly lists: { readonly [name in "all" | "on" | "paused"]: readonly string[] };
  /** What stands after each of our lines; the UUID is that of an `all` line. */
  readonly texts: readonly { readonly uuid: string | null; readonly text: string }[];
}

/**
 * Null when the line did not begin to run. What a login shell prints before is not looked at.
 *
 * @source remote.ts
 */
export function takeApart(output: string, mark: string): Listed | null {
  const begin = `${mark} begin\n`;
  const start = output.indexOf(begin);
  if (start < 0) return null;
  let end: Listed["end"] = null;
  const lists = { all: [] as string[], on: [] as string[], paused: [] as string[] };
  const [before = "", ...pieces] = output.slice(start + begin.length).split(`${mark} `);
  const texts: { uuid: string | null; text: string }[] = [{ uuid: null, text: before }];
  for (const piece of pieces) {
    const line = piece.indexOf("\n");
    // Cut off in the middle of a line of ours.
    if (line < 0) break;
    const [name = "", uuid = ""] = piece.slice(0, line).split(" ", 2);
    if (name === "all" || name === "on" || name === "paused") lists[name].push(uuid);
    if (name === "end" || name === "missing" || name === "failed") end = name;
    texts.push({ uuid: name === "all" ? uuid : null, text: piece.slice(line + 1) });
  }
  return { end, lists, texts };
}
