import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
// The flag makes it, in every context from then on.
const collect = runInNewContext("gc") as () => void;

/** Bytes that this process holds once its garbage is collected. */
export function held(): number {
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
