import type { ChildProcess } from "node:child_process";

/**
 * Ends a program and all that it started with this process, however that ends; it has to be the
 * first of a process group (`detached`).
 *
 * @returns what to call once it has ended by itself
 */
export function endWithUs({ pid }: ChildProcess): () => void {
  const end = (): void => {
    if (pid === undefined) return;
    try {
      process.kill(-pid, "SIGTERM");
    } catch {
      // It is gone.
    }
  };
  process.once("exit", end);
  return () => process.off("exit", end);
}
