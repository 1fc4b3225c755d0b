import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../edge/disk/package-root.ts";

/** Script and style sheet of the report's page, as the build made them. */
export function pageAssets(): { readonly script: string; readonly style: string } {
  const read = (name: string): string =>
    readFileSync(join(packageRoot(), ".build", "page", name), "utf8").trim();
  return { script: read("main.js"), style: read("page.css") };
}
