import { install, locate } from "./binaries.ts";

/** Debian's browser, and letters for it: its own packages recommend them only. */
export const CHROMIUM = {
  title: "Chromium",
  packages: ["chromium", "fonts-dejavu-core"],
} as const;

/** Path of the browser; installs it first when this is root on Debian. Null when there is no way. */
export function chromiumPath(): string | null {
  return locate("chromium") ?? (install(CHROMIUM) ? locate("chromium") : null);
}
