import { randomFillSync } from "node:crypto";

const POOL = 4096;

/**
 * The system's random bytes, a page of them at a time: a session wants 16 bytes five times, and
 * each call of the system's costs as much as one for all. What was given away is wiped here.
 *
 * @returns gives `length` bytes, at most 4096
 */
export function createRandom(): (length: number) => Buffer {
  const pool = Buffer.alloc(POOL);
  let at = POOL;
  return (length) => {
    if (length > POOL) throw new RangeError(`at most ${POOL} bytes`);
    if (at + length > POOL) {
      randomFillSync(pool);
      at = 0;
    }
    const given = Buffer.from(pool.subarray(at, at + length));
    pool.fill(0, at, at + length);
    at += length;
    return given;
  };
}
