import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The folder of this package: where `mappings` and `fixtures` are. Found from this file upward,
 * and else from the working directory, for a build that was written outside of the package.
 */
export function packageRoot(): string {
  const root = above(dirname(fileURLToPath(import.meta.url))) ?? above(process.cwd());
  if (root === null) throw new Error("package.json of nova2ironic is not above this file");
  return root;
}

function above(folder: string): string | null {
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    if (typeof manifest === "object" && manifest !== null && "name" in manifest) {
      if (manifest.name === "nova2ironic") return folder;
    }
  } catch {
    // No manifest here, or not one that can be read: look further up.
  }
  return dirname(folder) === folder ? null : above(dirname(folder));
}
