import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../demo/package-root.ts";

/** `nova2ironic 0.1.0`, for artefacts. */
export const VERSION: string = (() => {
  // The package's own manifest.
  const { version } = JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8")) as {
    version: string;
  };
  return `nova2ironic ${version}`;
})();
