// `npm run build`, after the bundle: runs what people run on a sample deployment, and keeps what V8 compiled
// for it beside the bundle, for this Node. src/cli/load-program.ts reads it.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Readable, Writable } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { compiledOf, loadedFiles, loadProgram, sealed } from "../.build/src/cli/load-program.js";
import { FLAG } from "../.build/src/cli/start.js";
import { writeCase } from "../.build/src/demo/write-case.js";

const program = loadProgram(resolve(".build/bundle/program.js"));
// V8 forgets what was not called for a while.
setFlagsFromString("--no-flush-bytecode");
const usual = process.umask(0o077);
const folder = mkdtempSync(join(tmpdir(), "n2i-compile-"));
const service = createServer((asked, answer) => {
  for (const [which, minor] of Object.entries({ Minimum: "1.1", Maximum: "1.82" }))
    answer.setHeader(`X-OpenStack-Ironic-API-${which}-Version`, minor);
  answer.setHeader("X-OpenStack-Ironic-API-Version", "1.82");
  answer.end(BODIES[new URL(asked.url, "http://any").pathname] ?? "{}");
});
const BODIES = {
  "/v1/nodes": JSON.stringify({
    nodes: [{ uuid: "c0ffee00-0000-4000-8000-000000000001", provision_state: "active" }],
  }),
  "/v1/ports": JSON.stringify({
    ports: [{ uuid: "c0ffee00-0000-4000-8000-000000000002", address: "52:54:00:00:00:01", extra: {} }],
  }),
  "/v1/portgroups": '{"portgroups":[]}',
};
try {
  await new Promise((listens) => service.listen(0, "127.0.0.1", listens));
  const { port } = service.address();
  const sample = JSON.parse(readFileSync("fixtures/demo/case.json", "utf8"));
  const { extract, ironic, plan } = await writeCase(sample, folder);
  const nova = extract.slice(extract.indexOf("--nova-db")).slice(0, 2);
  const run = ["--run", join(folder, "run")];
  const to = [...run, ...ironic, ...nova, "--watch", "0", "--yes"];
  await does(0, "extract", ...run, ...extract);
  await does(0, "plan", ...run, ...ironic, ...nova, ...plan);
  await does(0, "show", join(folder, "run", "plan"), "--diff", "1");
  await does(3, "apply", ...to, "--skip-blocked");
  await does(0, "verify", ...run, ...ironic, ...nova);
  await does(0, "status", ...run);
  await does(0, "rollback", ...to, "--all");
  const at = ["--ironic-url", `http://127.0.0.1:${port}`];
  await does(0, "node", "list", "--adoptable", ...at, "-f", "csv");
  await does(0, "node", "list", "--adoptable", ...at, "--all");
} finally {
  service.close();
  rmSync(folder, { recursive: true, force: true });
}
// V8 takes it where its flags are what they were here: the program is loaded before a command sets any, packages
// after src/cli/start.ts did.
setFlagsFromString("--flush-bytecode");
setFlagsFromString("--semi-space-growth-factor=2");
setFlagsFromString("--heap-growing-percent=0");
process.umask(usual);
for (const [file, { script }] of loadedFiles()) {
  if (!file.endsWith("program.js")) setFlagsFromString(FLAG);
  writeFileSync(compiledOf(file), sealed(readFileSync(file), script.createCachedData()));
}

/** Runs a command in this process. @throws Error when it ends with another status */
async function does(status, ...words) {
  let said = "";
  const heard = () =>
    new Writable({
      write(text, _encoding, done) {
        said += text;
        done();
      },
    });
  const world = {
    ...{ words, stdin: Readable.from([]), stdout: heard(), stderr: heard(), status: undefined },
    ...{ env: { PATH: process.env.PATH }, cwd: () => folder, host: process },
  };
  const ended = await program.run(world);
  if (ended !== status) throw new Error(`${words.join(" ")}: exit ${ended}\n${said}`);
}
