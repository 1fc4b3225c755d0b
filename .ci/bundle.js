// `npm run build`, second half: bundles the program into .build/bundle, and what it requires when a database or a
// site document is opened into a file of its own. Packages under `dependencies` are installed beside them; all others
// go in. .ci/compile.js then lets V8 compile both.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { build } from "esbuild";
import { checkMappings } from "../.build/src/migrate/open/documents.js";

const OUT = ".build/bundle";
const manifest = JSON.parse(readFileSync("package.json", "utf8"));

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

/** What src requires when it is used, and where: packages that most commands do not need. */
const LATE = [
  ...["knex", "knex/lib/dialects/better-sqlite3/index.js", "knex/lib/dialects/mysql2/index.js"],
  ...["knex/lib/dialects/postgres/index.js", "pg", "pg-copy-streams", "yaml"],
];

/** What knex and pg ask for where somebody has it, and we never do. */
const NEVER = [
  ...["better-sqlite3", "mariadb/callback", "mysql", "oracledb", "sqlite3", "tedious"],
  ...["pg-native", "pg-query-stream"],
];

/** A `require` that src makes by itself would pass by what load-program.ts gives: it takes that instead. */
const required = {
  name: "packages that are required",
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      if (!text.includes("createRequire(import.meta.url)")) return undefined;
      const contents = text
        .replaceAll("const require = createRequire(import.meta.url);", "")
        .replaceAll("createRequire(import.meta.url)(", "require(");
      return { contents, loader: "ts" };
    });
  },
};

const usual = {
  ...{ bundle: true, format: "cjs", platform: "node", target: "node20.19" },
  external: Object.keys(manifest.dependencies),
  define: { "import.meta.url": "moduleUrl" },
  // Names stay, as traces show them: without them it starts no faster.
  ...{ minifyWhitespace: true, minifySyntax: true },
  // Node prints the line that an uncaught error came from.
  lineLimit: 160,
  // src/cli/print/error.ts makes places in src of places in the bundle.
  ...{ sourcemap: "linked", sourcesContent: false },
  plugins: [measuring, required],
  metafile: true,
  logLevel: "warning",
};
const URL_OF_IT = 'const moduleUrl=require("node:url").pathToFileURL(__filename).href;';

// A .js is what the nearest package.json says: this one says no name, so that nobody takes it for ours.
const entry = await build({
  ...usual,
  entryPoints: { nova2ironic: "src/cli/main.ts" },
  outdir: OUT,
  banner: { js: URL_OF_IT },
});
writeFileSync(`${OUT}/package.json`, '{"type":"commonjs"}\n');

// Each is one function, as src/cli/load-program.ts calls it. What is imported later becomes ready later.
const asFunction = {
  banner: { js: `(function(exports,require,module,__filename,__dirname){${URL_OF_IT}` },
  footer: { js: "})" },
};
const program = await build({
  ...{ ...usual, ...asFunction },
  external: [...usual.external, ...LATE],
  stdin: {
    contents: 'export { start } from "./start.ts"; export { run } from "./program.ts";',
    ...{ resolveDir: "src/cli", loader: "ts" },
  },
  outfile: `${OUT}/program.js`,
});
const late = await build({
  ...{ ...usual, ...asFunction },
  external: [...usual.external, ...NEVER],
  stdin: {
    contents: LATE.map((name) => `exports["${name}"] = () => require("${name}");`).join("\n"),
    resolveDir: ".",
  },
  outfile: `${OUT}/packages.js`,
});

// src/cli/load-program.ts reads bytes as letters. esbuild writes escapes, but leaves a regular expression as it is.
for (const name of readdirSync(OUT).filter((file) => file.endsWith(".js"))) {
  const at = /.{0,40}[^\0-\x7f]/.exec(readFileSync(`${OUT}/${name}`, "utf8"));
  if (at !== null) throw new Error(`${name}: write an escape in place of the last of: ${at[0]}`);
}

// What a report has in it to be read in a browser: one script, one style sheet.
await build({
  entryPoints: ["src/window/report/browser/main.ts", "src/window/report/browser/page.css"],
  ...{ bundle: true, format: "iife", platform: "browser", target: "es2022", minify: true },
  ...{ outdir: ".build/page", logLevel: "warning" },
});

/** The packages that went in, with the licences they ask to be handed on. */
const packages = new Set(
  [entry, program, late]
    .flatMap(({ metafile }) => Object.keys(metafile.inputs))
    .flatMap((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []),
);
const licences = [...packages].sort().map((folder) => {
  const { name, version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  return `${name} ${version}\n\n${licenceIn(folder)}`;
});
// Two packages may have the same one of their own.
writeFileSync(`${OUT}/LICENCES.txt`, [...new Set(licences)].join(`\n${"-".repeat(80)}\n`));

// What it checked the program trusts: documents with these digests, and no other.
writeFileSync(`${OUT}/checked.json`, JSON.stringify(await checkMappings()));

/** The notice of a package: a file of its own, or the part of its README. @throws Error where there is none */
function licenceIn(folder) {
  const files = readdirSync(folder);
  const own = files.find((one) => /^licen[cs]e/i.test(one));
  if (own !== undefined) return readFileSync(`${folder}/${own}`, "utf8");
  const readme = files.find((one) => /^readme/i.test(one));
  const text = readme === undefined ? "" : readFileSync(`${folder}/${readme}`, "utf8");
  const part = /^#+ *licen[cs]e *\n+([\s\S]*?)(?=^#|(?![\s\S]))/im.exec(text)?.[1] ?? "";
  if (!/copyright/i.test(part)) throw new Error(`${folder} has no licence to hand on`);
  return `${part.trimEnd()}\n`;
}
