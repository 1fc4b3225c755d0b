import { missingPackages } from "../../grenade/lib/stack.ts";
import { TEMPEST } from "../proxy/tempest.ts";
import { install, locate, SERVERS } from "./binaries.ts";
import { missingTools, TOOLS } from "./bmc/tools.ts";
import { CHROMIUM } from "./chromium.ts";
import { versionsOf } from "./python.ts";

export const SHELLCHECK = { title: "ShellCheck", packages: ["shellcheck"] } as const;

/**
 * Installs what the whole suite runs and is not there, by one call of apt-get: each one reads all lists
 * and ends with what every package wants done, and tests wait for it. What it could not get each test
 * that needs it tries again, and says.
 */
export function installForAll(): void {
  const servers = Object.values(SERVERS).filter(({ binaries }) =>
    binaries.some((name) => locate(name) === null),
  );
  const own = [
    ...servers,
    ...missingTools().map((name) => TOOLS[name]),
    ...(locate("chromium") === null ? [CHROMIUM] : []),
    ...(locate("shellcheck") === null ? [SHELLCHECK] : []),
    ...(versionsOf(["tempest"])[0] === null ? [TEMPEST] : []),
  ];
  const all = [...own.flatMap(({ packages }) => packages), ...missingPackages("mysql")];
  const packages = [...new Set(all)];
  if (packages.length > 0) install({ title: "what tests run and compare with", packages });
}
