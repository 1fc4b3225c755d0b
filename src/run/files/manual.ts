import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "./package-root.ts";

const FOLDER = join("src", "manual");
/** The page with the list of pages. */
const INDEX = "manual";

/** Topics of `help`, in addition to commands. */
export function topics(): readonly string[] {
  const files = readdirSync(join(packageRoot(), FOLDER)).filter((name) => name.endsWith(".md"));
  return files.map((name) => (name === "README.md" ? INDEX : name.slice(0, -".md".length))).sort();
}

/** @param topic one of `topics` */
export function manualPage(topic: string): string {
  const name = topic === INDEX ? "README" : topic;
  return readFileSync(join(packageRoot(), FOLDER, `${name}.md`), "utf8");
}
