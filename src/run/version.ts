import { hostname, userInfo } from "node:os";
import { version } from "./files/package-root.ts";

/** `nova2ironic 0.1.0`, for artefacts. */
export const VERSION: string = version();

/** `root@host pid 123`, for journals and logs. */
export function whoami(): string {
  let user = String(process.getuid?.() ?? "?");
  try {
    user = userInfo().username;
  } catch {
    // Use the number of a uid without a name.
  }
  return `${user}@${hostname()} pid ${process.pid}`;
}
