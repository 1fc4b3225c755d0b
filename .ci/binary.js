// `npm run package:binary`: writes dist/nova2ironic, one file with this Node and the package in it. When it starts for
// the first time it unpacks the package into the user's cache folder, and it runs it from there.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, copyFileSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";

/** The script in the binary. The folder has the digest of the package in its name. */
const script = (digest) => `
const { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } = require("node:fs");
const { dirname, join } = require("node:path");
const caches = process.env.XDG_CACHE_HOME || join(require("node:os").homedir(), ".cache");
const home = join(caches, "nova2ironic-${digest}");
if (!existsSync(home)) {
  mkdirSync(caches, { recursive: true, mode: 0o700 });
  const made = mkdtempSync(home + ".");
  const packed = Buffer.from(require("node:sea").getRawAsset("package"));
  const files = JSON.parse(require("node:zlib").gunzipSync(packed));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(made, name)), { recursive: true, mode: 0o700 });
    writeFileSync(join(made, name), content, "base64");
  }
  try {
    renameSync(made, home);
  } catch (error) {
    rmSync(made, { recursive: true });
    if (!existsSync(home)) throw error; // otherwise a second process was faster
  }
}
require("node:module").createRequire(join(home, "main.cjs"))("./main.cjs");
`;

const folder = mkdtempSync(join(tmpdir(), "n2i-binary-"));
try {
  const run = (program, ...words) => execFileSync(program, words, { cwd: folder, stdio: "ignore" });
  run("npm", "pack", resolve("."), "--silent", "--ignore-scripts");
  run("tar", "xzf", readdirSync(folder)[0]);
  writeFileSync(join(folder, "package", "main.cjs"), 'import("./dist/src/cli/main.js");\n');
  const root = join(folder, "package");
  const names = readdirSync(root, { recursive: true }).filter((name) => statSync(join(root, name)).isFile());
  const files = names.sort().map((name) => [name, readFileSync(join(root, name), "base64")]);
  const packed = gzipSync(JSON.stringify(Object.fromEntries(files)));
  const digest = createHash("sha256").update(packed).digest("hex").slice(0, 16);
  const config = { main: "sea.cjs", output: "blob", disableExperimentalSEAWarning: true };
  writeFileSync(join(folder, "packed"), packed);
  writeFileSync(join(folder, "sea.cjs"), script(digest));
  writeFileSync(join(folder, "sea.json"), JSON.stringify({ ...config, assets: { package: "packed" } }));
  run(process.execPath, "--experimental-sea-config", "sea.json");
  copyFileSync(process.execPath, "dist/nova2ironic");
  chmodSync("dist/nova2ironic", 0o755);
  const fuse = ["--sentinel-fuse", "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2"];
  const injected = [resolve("dist/nova2ironic"), "NODE_SEA_BLOB", "blob", ...fuse];
  run(resolve("node_modules/.bin/postject"), ...injected);
} finally {
  rmSync(folder, { recursive: true });
}
