// `npm run build`, after the compiler: writes the script and the style sheet of report.html, and the digests of the
// mapping documents. The program does not check a document again that has one of these digests.
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
