// `npm run package:binary`: writes dist/nova2ironic, one file that contains this Node and the package. At its first
// start it unpacks the package into the user's cache folder. It always runs the package from there.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
/** The script in the binary. The name of its folder has the package's digest; no other user may write to it. */
const script = (digest) => `
const fs = require("node:fs");
const { dirname, isAbsolute, join } = require("node:path");
const caches = [process.env.XDG_CACHE_HOME ?? "", join(require("node:os").homedir(), ".cache")].find(isAbsolute);
const home = join(caches ?? "/", "nova2ironic-${digest}");
try {
  if (!fs.existsSync(home)) unpack(home + "." + process.pid);
  const { uid, mode } = fs.lstatSync(home);
  if (uid !== process.getuid() || (mode & 0o22) !== 0) throw new Error("another user can write to it");
  require("node:module").createRequire(join(home, "main.cjs"))("./main.cjs");
} catch ({ message }) {
  console.error("ERROR Cannot run the program in %s: %s.", home, message.split("\\n")[0]);
  console.error("Fix: Remove that folder, or set XDG_CACHE_HOME to the path of a folder of your own.");
  process.exitCode = 1;
}
function unpack(made) {
  const packed = Buffer.from(require("node:sea").getRawAsset("package"));
  try {
    for (const [name, content] of Object.entries(JSON.parse(require("node:zlib").gunzipSync(packed)))) {
      fs.mkdirSync(dirname(join(made, name)), { recursive: true, mode: 0o700 });
      fs.writeFileSync(join(made, name), content, { encoding: "base64", mode: 0o600 });
    }
    fs.renameSync(made, home);
  } catch (error) {
    fs.rmSync(made, { recursive: true, force: true });
    if (!fs.existsSync(home)) throw error; // otherwise a second process was faster
  }
}
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
  const into = [resolve("dist/nova2ironic"), "NODE_SEA_BLOB", "blob", "--sentinel-fuse"];
  run(resolve("node_modules/.bin/postject"), ...into, "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2");
} finally {
  rmSync(folder, { recursive: true });
}
