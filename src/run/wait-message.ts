import { processContext } from "./process-context.ts";

/** Milliseconds before the first message, and between messages. */
const FIRST = 2000;
const AGAIN = 30_000;

/** Reports work without progress that takes longer than a moment. */
export async function waitingFor<T>(action: string, work: () => Promise<T>): Promise<T> {
  const { wait } = processContext();
  const began = Date.now();
  let timer: NodeJS.Timeout;
  const report = (): void => {
    wait(`Still ${action}: ${Math.round((Date.now() - began) / 1000)} s so far.`);
    timer = setTimeout(report, AGAIN).unref();
  };
  timer = setTimeout(report, FIRST).unref();
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
