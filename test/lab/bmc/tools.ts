import { spawnSync } from "node:child_process";
import type { TestContext } from "node:test";
import { whyNot623 } from "../../../src/edge/ipmi/testing/index.ts";
import { install, locate } from "../binaries.ts";
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

/**
 * Path of the program, of Python for pyghmi; installs it first when this is root on Debian. Null
 * when there is no way; why is told on stderr.
 */
export function tool(name: Tool): string | null {
  return find(name) ?? (install(TOOLS[name]) ? find(name) : null);
}

/** Those that are not there. */
export function missingTools(): readonly Tool[] {
  // The names of an object of this type are its keys, which Object.keys does not tell.
  return (Object.keys(TOOLS) as Tool[]).filter((name) => find(name) === null);
}

/** Finds or installs all of them, so that tests beside each other do not wait for apt-get. */
export function prepareTools(): readonly Tool[] {
  const missing = missingTools();
  if (missing.length > 0)
    install({
      title: "tools that tests compare with",
      packages: missing.flatMap((name) => TOOLS[name].packages),
    });
  return missingTools();
}

/**
 * The paths of these programs for a test that also needs port 623; null after the test was told to
 * skip itself.
 */
export async function needsTools<T extends Tool>(
  t: Pick<TestContext, "skip">,
  ...names: readonly T[]
): Promise<{ readonly [name in T]: string } | null> {
  const why = process.env.N2I_FAST === "1" ? "the fast part starts no servers" : await whyNot623();
  const found = names.map((name) => [name, why === null ? tool(name) : null] as const);
  const missing = found.flatMap(([name, path]) => (path === null ? [name] : []));
  if (missing.length > 0) {
    const packages = missing.flatMap((name) => TOOLS[name].packages).join(" ");
    t.skip(why ?? `needs ${missing.join(", ")}: apt-get install ${packages}`);
    return null;
  }
  // Each name of T has its path: fromEntries forgets the names.
  return Object.fromEntries(found) as { readonly [name in T]: string };
}

function find(name: Tool): string | null {
  if (name !== "pyghmi") return locate(name);
  const { status } = spawnSync(PYTHON, ["-c", "import pyghmi.ipmi.bmc"], { stdio: "ignore" });
  return status === 0 ? PYTHON : null;
}
