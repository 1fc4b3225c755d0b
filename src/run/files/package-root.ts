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
 * Folder of this package with `mappings` and `fixtures`: above this file, else above the working
 * directory, for a build outside the package.
 */
export function packageRoot(): string {
  return thisPackage().root;
}

/** `nova2ironic 0.1.0`, for artefacts. */
export function version(): string {
  return `nova2ironic ${thisPackage().manifest.version}`;
}

export function program(): string {
  const { root, manifest } = thisPackage();
  return join(root, manifest.bin.nova2ironic);
}

/** Command that starts this program: Node with a script, or the single executable. */
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
    // No readable manifest here: continue in the parent folder.
  }
  return dirname(folder) === folder ? null : above(dirname(folder));
}
