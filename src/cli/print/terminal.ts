import type { Environment } from "../../stages/surroundings.ts";
import type { Output } from "../io.ts";

/** What a stream can show. */
interface Terminal {
  /** Whether a line may be drawn over again; never when it goes to a file or a dumb terminal. */
  readonly live: boolean;
  /** Columns of the screen now; 80 where it will not say. */
  readonly width: () => number;
}

/**
 * @param env TERM=dumb forbids every control code; colours (NO_COLOR) are listr2's alone
 */
export function terminalOf(stream: Output, env: Environment): Terminal {
  const live = stream.isTTY === true && env.TERM !== "dumb";
  return {
    live,
    width: () => (stream.columns === undefined || stream.columns < 1 ? 80 : stream.columns),
  };
}
