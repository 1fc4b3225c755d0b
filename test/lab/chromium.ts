import { needsProgram } from "./binaries.ts";

/** Debian's browser, and letters for it: its own packages only recommend them. */
export const CHROMIUM = { title: "Chromium", packages: ["chromium", "fonts-dejavu-core"] } as const;

export function chromiumPath(): string {
  return needsProgram("chromium", CHROMIUM);
}
