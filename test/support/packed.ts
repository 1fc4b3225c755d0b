import { execFile } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { promisify } from "node:util";
import { packageRoot } from "../../src/run/files/package-root.ts";

const run = promisify(execFile);

/** Packs the package as built, and unpacks it to `home`, which is below `folder`. */
export async function unpack(folder: string, home: string): Promise<void> {
  // Already built: the tests are part of that build.
  const words = ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder];
  await run("npm", words, { cwd: packageRoot() });
  const name = readdirSync(folder).find((file) => file.endsWith(".tgz")) ?? "";
  mkdirSync(home, { recursive: true });
  await run("tar", ["xzf", name, "-C", home, "--strip-components=1"], { cwd: folder });
}
