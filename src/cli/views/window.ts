import { type View, viewOf } from "../../lib/table/table.ts";

interface Line {
  readonly at: string;
  readonly by: string;
  readonly do: string;
  readonly stage?: string;
  readonly result?: string;
  readonly outside?: string;
}

export function windowView(lines: readonly Line[]): View {
  return viewOf<Line>(
    {
      At: ({ at }) => at,
      By: ({ by }) => by,
      What: (line) => line.do,
      Stage: ({ stage = null }) => stage,
      Result: ({ result = null }) => result,
      "Outside a window": ({ outside = null }) => outside,
    },
    lines,
  );
}
