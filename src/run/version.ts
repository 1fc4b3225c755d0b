import { hostname, userInfo } from "node:os";
import { version } from "./files/package-root.ts";

/** `nova2ironic 0.1.0`, for artefacts. */
export const VERSION: string = version();

/** `root@host pid 123`, for journals and logs: who acts. */
export function whoami(): string {
  let user = String(process.getuid?.() ?? "?");
  try {
    user = userInfo().username;
  } catch {
    // A uid without a name is named by its number.
  }
  return `${user}@${hostname()} pid ${process.pid}`;
}
