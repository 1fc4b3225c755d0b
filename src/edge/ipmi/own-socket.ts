import { readdir, readlink } from "node:fs/promises";
import { join } from "node:path";

/** Milliseconds between two looks. */
const LOOK = 20;
/** Standard input, output and error may be sockets, too. */
const FIRST_OWN = 3;

/**
 * Calls `opened` once, when a child process has a socket of its own: ipmitool reads its password
 * before. Never where the system has no /proc, or when the child ends before.
 *
 * @returns stops looking
 */
export function onSocket(pid: number, opened: () => void): () => void {
  let ended = false;
  const look = async (): Promise<void> => {
    while (!ended) {
      const folder = `/proc/${pid}/fd`;
      const own = (await readdir(folder)).filter((fd) => Number(fd) >= FIRST_OWN);
      for (const fd of own) {
        const target = await readlink(join(folder, fd)).catch(() => "");
        if (!target.startsWith("socket:") || ended) continue;
        ended = true;
        opened();
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK));
    }
  };
  // It has ended, or there is no /proc: then the file goes at the end.
  look().catch(() => undefined);
  return () => {
    ended = true;
  };
}
