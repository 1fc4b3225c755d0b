import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isSea } from "node:sea";
import { fileURLToPath } from "node:url";

interface Package {
  readonly root: string;
  readonly manifest: { readonly version: string; readonly bin: { readonly nova2ironic: string } };
}

let found: Package | null = null;

/**
 * The folder of this package: where `mappings` and `fixtures` are. Found from this file upward,
 * and else from the working directory, for a build that was written outside of the package.
 */
export function packageRoot(): string {
  return thisPackage().root;
}

/** `nova2ironic 0.1.0`, for artefacts. */
export function version(): string {
  return `nova2ironic ${thisPackage().manifest.version}`;
}

/** The program as it is installed. */
export function program(): string {
  const { root, manifest } = thisPackage();
  return join(root, manifest.bin.nova2ironic);
}

/** The command that starts this program: Node with the program, or the single executable that is both. */
export function programCommand(): readonly [string, ...string[]] {
  return isSea() ? [process.execPath] : [process.execPath, program()];
}

function thisPackage(): Package {
  found ??= above(dirname(fileURLToPath(import.meta.url))) ?? above(process.cwd());
  if (found === null) throw new Error("package.json of nova2ironic is not above this file");
  return found;
}

function above(folder: string): Package | null {
  try {
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    if (manifest?.name === "nova2ironic") return { root: folder, manifest };
  } catch {
    // No manifest here, or not one that can be read: look further up.
  }
  return dirname(folder) === folder ? null : above(dirname(folder));
}
