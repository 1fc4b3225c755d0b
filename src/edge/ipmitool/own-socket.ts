import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";

/** Milliseconds between two looks. */
const LOOK = 20;
/** Column of the inode in /proc/net/udp. */
const INODE = 9;

/** Whether a process has a UDP socket; its standard files, and copies of them, are others. */
async function speaks(pid: number): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  const files = await Promise.all(
    (await readdir(folder)).map((fd) => readlink(join(folder, fd)).catch(() => "")),
  );
  const sockets = new Set(files.flatMap((name) => /^socket:\[(\d+)\]$/.exec(name)?.[1] ?? []));
  if (sockets.size === 0) return false;
  for (const table of ["udp", "udp6"]) {
    const lines = await readFile(`/proc/${pid}/net/${table}`, "utf8").catch(() => "");
    if (lines.split("\n").some((line) => sockets.has(line.trim().split(/\s+/)[INODE] ?? "")))
      return true;
  }
  return false;
}

/**
 * Calls `opened` once, when a child process has a UDP socket: ipmitool reads its password
 * before. Never where the system has no /proc, or when the child ends before.
 *
 * @returns stops looking
 */
export function onSocket(pid: number, opened: () => void): () => void {
  let ended = false;
  const inspect = async (): Promise<void> => {
    const ours = await readlink("/proc/self/exe");
    while (!ended) {
      // Between fork and exec a child has our sockets, and is still our program.
      const started = (await readlink(`/proc/${pid}/exe`)) !== ours;
      if (started && (await speaks(pid)) && !ended) {
        ended = true;
        opened();
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK));
    }
  };
  // It has ended, or there is no /proc: then the file goes at the end.
  inspect().catch(() => undefined);
  return () => {
    ended = true;
  };
}
