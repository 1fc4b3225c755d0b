import { surroundings } from "./process-context.ts";

/** Milliseconds of silence before it is said what is waited for, and then between two lines. */
const FIRST = 2000;
const AGAIN = 30_000;

/** Does work that shows no progress; when it takes longer than a moment, says what it is. */
export async function waitingFor<T>(what: string, work: () => Promise<T>): Promise<T> {
  const { wait } = surroundings();
  const began = Date.now();
  let timer: NodeJS.Timeout;
  const say = (): void => {
    wait(`Still ${what}: ${Math.round((Date.now() - began) / 1000)} s so far.`);
    timer = setTimeout(say, AGAIN).unref();
  };
  timer = setTimeout(say, FIRST).unref();
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
