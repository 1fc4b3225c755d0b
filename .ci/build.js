// `npm run build`, after the compiler: writes what a report has in it to be read in a browser (one script, one style
// sheet) and the digests of the mapping documents, which the program then need not check again.
import { chmodSync, writeFileSync } from "node:fs";
import { build } from "esbuild";
import { checkMappings } from "../dist/src/migrate/open/documents.js";

await build({
  entryPoints: ["src/window/report/browser/main.ts", "src/window/report/browser/page.css"],
  ...{ bundle: true, format: "iife", platform: "browser", target: "es2022", minify: true },
  ...{ outdir: "dist/page", logLevel: "warning" },
});
writeFileSync("dist/checked.json", JSON.stringify(await checkMappings()));
chmodSync("dist/src/cli/main.js", 0o755);
