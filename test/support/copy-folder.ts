import { chmodSync, cpSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

/**
 * Copies a folder and what is in it; the copy is as private as the first (Node 24's cp forgets). A
 * run that is put back, or is to be another run's, no longer says where it was made.
 */
export function copyFolder(from: string, to: string): void {
  // Otherwise the link to the present plan would lead to the first.
  cpSync(from, to, { recursive: true, verbatimSymlinks: true });
  rmSync(join(to, "run.place"), { force: true });
  chmodSync(to, statSync(from).mode & 0o7777);
}
