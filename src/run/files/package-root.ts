import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** What the program reads of its own package.json. */
interface Manifest {
  readonly name: "nova2ironic";
  readonly version: string;
  readonly bin: { readonly nova2ironic: string };
}

interface Package {
  readonly root: string;
  readonly manifest: Manifest;
}

let found: Package | null = null;

/**
 * The folder of this package: where `mappings` and `fixtures` are. Found from this file upward,
 * and else from the working directory, for a build that was written outside of the package.
 */
export function packageRoot(): string {
  return ownPackage().root;
}

/** `nova2ironic 0.1.0`, for artefacts. */
export function version(): string {
  return `nova2ironic ${ownPackage().manifest.version}`;
}

/** The program as it is installed, to start it again. */
export function program(): string {
  const { root, manifest } = ownPackage();
  return join(root, manifest.bin.nova2ironic);
}

function ownPackage(): Package {
  found ??= above(dirname(fileURLToPath(import.meta.url))) ?? above(process.cwd());
  if (found === null) throw new Error("package.json of nova2ironic is not above this file");
  return found;
}

function above(folder: string): Package | null {
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    // Whoever has our name has our form.
    if (typeof manifest === "object" && manifest !== null && "name" in manifest)
      if (manifest.name === "nova2ironic") return { root: folder, manifest: manifest as Manifest };
  } catch {
    // No manifest here, or not one that can be read: look further up.
  }
  return dirname(folder) === folder ? null : above(dirname(folder));
}
