import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { packageRoot } from "../src/run/files/package-root.ts";
import { startFarm } from "./support/bmc/index.ts";
import { unpack } from "./support/packed.ts";

// Its example uses 127.0.0.2, which macOS does not have.
test("the example of the IPMI library's README compiles and runs with the packed package", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "n2i-library-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const home = join(folder, "elsewhere", "node_modules", "nova2ironic");
  await unpack(folder, home);
  const readme = readFileSync(join(home, "src/lib/ipmi/README.md"), "utf8");
  const example = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
  const user = join(folder, "elsewhere");
  writeFileSync(join(user, "package.json"), '{"type":"module"}');
  writeFileSync(join(user, "example.ts"), example);
  mkdirSync(join(user, "node_modules", "@types"));
  symlinkSync(
    join(packageRoot(), "node_modules", "@types", "node"),
    join(user, "node_modules", "@types", "node"),
  );
  const tsc = join(packageRoot(), "node_modules", "typescript", "bin", "tsc");
  const options = ["--strict", "--module", "nodenext", "--target", "es2023", "--types", "node"];
  const compiled = spawnSync(process.execPath, [tsc, ...options, "example.ts"], {
    cwd: user,
    encoding: "utf8",
  });
  assert.equal(compiled.status, 0, compiled.stdout + compiled.stderr);
  // One BMC is well, the other has no users.
  const farm = await startFarm({
    all: { port: 6230, users: [{ name: "admin", password: "s3cret" }] },
    bmcs: [
      { address: "127.0.0.1", power: true },
      { address: "127.0.0.2", users: [] },
    ],
  });
  t.after(farm.close);
  const env = { ...process.env, BMC_PORT: "6230", BMC_PASSWORD: "s3cret" };
  // The BMCs answer in this process meanwhile.
  const { stdout } = await promisify(execFile)(process.execPath, ["example.js"], {
    cwd: user,
    env,
  });
  const [power, firmware, ...readings] = stdout.trimEnd().split("\n");
  assert.deepEqual([power, firmware], ["on", "5.03"]);
  assert.deepEqual(readings.toSorted(), ["127.0.0.1 on", "127.0.0.2 wrong-user"]);
});
