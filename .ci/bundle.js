// `npm run build`, second half: bundles the program into .build/bundle, in chunks that are loaded when
// they are wanted. Packages under `dependencies` are installed beside it; all others go into it.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { build } from "esbuild";
import { checkMappings } from "../.build/src/stages/documents.js";

const OUT = ".build/bundle";
const manifest = JSON.parse(readFileSync("package.json", "utf8"));

/** Commands that open nothing but the run's folder, lists of machines that run, and all others: one file each would be dozens. */
const GROUPS = {
  reading: ["./status.ts", "./show.ts", "./explain.ts"],
  listing: ["./node.ts", "./adoptable.ts"],
};
const groupOf = (file) =>
  Object.keys(GROUPS).find((group) => GROUPS[group].includes(file)) ?? "acting";
const LOAD = "src/cli/commands/load.ts";
const commands = [...readFileSync(LOAD, "utf8").matchAll(/import\("([^"]+)"\)/g)].map(
  ([, file]) => file,
);
const together = {
  name: "commands that are loaded together",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\/[\w-]+\.ts$/ }, ({ kind, importer, path }) =>
      kind === "dynamic-import" && importer.endsWith(LOAD)
        ? { path: groupOf(path), namespace: "commands" }
        : undefined,
    );
    onLoad({ filter: /./, namespace: "commands" }, ({ path }) => ({
      contents: commands
        .filter((file) => groupOf(file) === path)
        .map((file) => `export * from "${file}";`)
        .join("\n"),
      resolveDir: dirname(resolve(LOAD)),
    }));
  },
};

/** Yargs measures text for help alone, and what measures it takes a tenth of a short command's time to be ready. */
const measuring = {
  name: "packages that are ready when they are called",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(cliui|string-width)$/ }, ({ importer, path }) =>
      importer.includes("/node_modules/yargs/") ? { path, namespace: "measuring" } : undefined,
    );
    onLoad({ filter: /./, namespace: "measuring" }, ({ path }) => ({
      contents: `export default (...given) => require("${path}").default(...given);`,
      resolveDir: resolve("node_modules/yargs"),
    }));
  },
};

const { metafile } = await build({
  entryPoints: { nova2ironic: "src/cli/main.ts" },
  ...{ bundle: true, splitting: true, format: "esm", platform: "node", target: "node20.19" },
  external: Object.keys(manifest.dependencies),
  outdir: OUT,
  // Names stay, as traces show them: without them it starts no faster.
  ...{ minifyWhitespace: true, minifySyntax: true },
  // Node prints the line that an uncaught error came from.
  lineLimit: 160,
  // src/cli/print/error.ts makes places in src of places in the bundle.
  ...{ sourcemap: "linked", sourcesContent: false },
  plugins: [together, measuring],
  metafile: true,
  logLevel: "warning",
});

// What a report has in it to be read in a browser: one script, one style sheet.
await build({
  entryPoints: ["src/report/browser/main.ts", "src/report/browser/page.css"],
  ...{ bundle: true, format: "iife", platform: "browser", target: "es2022", minify: true },
  ...{ outdir: ".build/page", logLevel: "warning" },
});

const exported = Object.values(metafile.outputs).flatMap((one) => one.exports);
const lost = commands
  .map((file) => `${file.replace(/^\.\/|\.ts$/g, "")}Command`)
  .filter((name) => !exported.includes(name));
if (lost.length > 0) throw new Error(`of two files that export ${lost.join(", ")} none is taken`);

/** The packages that went in, with the licences they ask to be handed on. */
const packages = new Set(
  Object.values(metafile.outputs)
    .flatMap(({ inputs }) => Object.keys(inputs))
    .flatMap((file) => /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []),
);
const licences = [...packages].sort().map((folder) => {
  const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  const text = file === undefined ? `${license}\n` : readFileSync(`${folder}/${file}`, "utf8");
  return `${name} ${version}\n\n${text}`;
});
writeFileSync(`${OUT}/LICENCES.txt`, licences.join(`\n${"-".repeat(80)}\n`));

// What it checked the program trusts: documents with these digests, and no other.
writeFileSync(`${OUT}/checked.json`, JSON.stringify(await checkMappings()));
