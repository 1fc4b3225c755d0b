import { spawnSync } from "node:child_process";

/** Debian's own Python: one in front of it on the PATH does not see Debian's packages. */
export const PYTHON = "/usr/bin/python3";

/** Versions of Python's packages, null of each that is not there: `["22.0.2", null]`. */
export function versionsOf(packages: readonly string[]): readonly (string | null)[] {
  const asked = `
import importlib.metadata as m, sys
for name in sys.argv[1:]:
    try: print(m.version(name))
    except m.PackageNotFoundError: print("")
`;
  const { stdout } = spawnSync(PYTHON, ["-c", asked, ...packages], { encoding: "utf8" });
  const lines = (stdout ?? "").split("\n");
  return packages.map((_, at) => lines[at] || null);
}
