import { rest } from "./pause.ts";

/** Milliseconds between the tries of a question. */
const PAUSES = [250, 500, 1000, 2000, 4000, 4000];

/** Nobody answered, or not with what was asked for: a question may be put again. */
export function isPassing({ status }: { readonly status: number }): boolean {
  return status === 0 || status >= 500 || status === 429;
}

/** Puts a question until it is answered, for about twelve seconds and the calls' own time limits. */
export async function askUntilAnswered<T extends { readonly status: number }>(
  put: () => Promise<T>,
): Promise<T> {
  for (const pause of PAUSES) {
    const answer = await put();
    if (!isPassing(answer)) return answer;
    await rest(pause);
  }
  return put();
}
