import { spawnSync } from "node:child_process";
import { needsProgram, notInstalled } from "../binaries.ts";
import { PYTHON } from "../python.ts";

/** Programs others wrote, most of which speak IPMI; the packages are Debian's. */
export const TOOLS = {
  ipmitool: { title: "ipmitool", packages: ["ipmitool"] },
  ipmipower: { title: "FreeIPMI's ipmipower", packages: ["freeipmi-tools"] },
  ipmi_sim: { title: "OpenIPMI's ipmi_sim", packages: ["openipmi"] },
  haproxy: { title: "haproxy", packages: ["haproxy"] },
  apache2: { title: "Apache", packages: ["apache2-bin"] },
  nginx: { title: "nginx", packages: ["nginx"] },
  patch: { title: "patch", packages: ["patch"] },
  pyghmi: { title: "pyghmi's server", packages: ["python3-pyghmi"] },
} as const;

export type Tool = keyof typeof TOOLS;

/** Path of the program, of Python for pyghmi. @throws Error with the packages to install */
export function tool(name: Tool): string {
  if (name !== "pyghmi") return needsProgram(name, TOOLS[name]);
  const { status } = spawnSync(PYTHON, ["-c", "import pyghmi.ipmi.bmc"], { stdio: "ignore" });
  if (status !== 0) throw notInstalled(TOOLS[name]);
  return PYTHON;
}

export function needsTools<T extends Tool>(...names: readonly T[]) {
  // Each name of T has its path: fromEntries forgets the names.
  return Object.fromEntries(names.map((name) => [name, tool(name)])) as {
    readonly [name in T]: string;
  };
}
