import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../src/run/files/package-root.ts";

const FOLDER = join(packageRoot(), "src", "manual");

/** The names of all pages, those of folders with their folder. */
export function pageNames(): readonly string[] {
  return readdirSync(FOLDER, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => name.slice(0, -".md".length))
    .sort();
}

/** @param section title of one of its sections: only that */
export function page(name: string, section?: string): string {
  const text = readFileSync(join(FOLDER, `${name}.md`), "utf8");
  if (section === undefined) return text;
  const found = text.split(/^## /m).find((one) => one.startsWith(`${section}\n`));
  if (found === undefined) throw new Error(`${name}.md has no section ${section}`);
  return found;
}

/** The fenced blocks of one language; of none: those with commands to run as they stand. */
export function blocks(text: string, language: string): readonly string[] {
  return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)]
    .filter(([, found]) => found === language)
    .map(([, , block]) => block ?? "");
}

/** Lines of output that a page expects. */
export function expected(name: string): readonly string[] {
  return [...page(name).matchAll(/^Expected output: `(.*)`$/gm)].map(([, line = ""]) => line);
}

/** The first document in YAML of a page. */
export function yamlOf(name: string): string {
  return blocks(page(name), "yaml")[0] ?? "";
}

/** Every nova2ironic command in blocks without a language, words split, continued lines joined. */
export function commands(text: string): readonly (readonly string[])[] {
  return blocks(text, "")
    .flatMap((block) => block.replaceAll("\\\n", " ").split("\n"))
    .filter((line) => line.startsWith("nova2ironic "))
    .map((line) => line.trim().split(/\s+/).slice(1));
}
