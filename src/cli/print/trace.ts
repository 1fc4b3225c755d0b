import { readFileSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { packageRoot } from "../../edge/disk/package-root.ts";

/** `    at apply (file:///.../chunk-ABC.js:12:345)`, with or without a function. */
const FRAME = /(\(?)(file:\/\/\S+\.js):(\d+):(\d+)(\)?)$/;

/**
 * A line of a stack with its place in src instead of the bundle's, which is no place in any file that
 * is read. Node does so itself with --enable-source-maps, but reads every map at start.
 */
export function placed(line: string): string {
  const match = FRAME.exec(line);
  if (match === null) return line;
  const [, open, url = "", row, column, close] = match;
  const found = mapOf(url)?.findEntry(Number(row) - 1, Number(column) - 1);
  if (found === undefined || !("originalSource" in found)) return line;
  const file = relative(packageRoot(), fileURLToPath(new URL(found.originalSource, url)));
  const at = `${file}:${found.originalLine + 1}:${found.originalColumn + 1}`;
  return `${line.slice(0, match.index)}${open}${at}${close}`;
}

function mapOf(url: string): SourceMap | undefined {
  try {
    // Written beside it by the build.
    return new SourceMap(
      JSON.parse(readFileSync(fileURLToPath(`${url}.map`), "utf8")) as SourceMapPayload,
    );
  } catch {
    // A module of its own has its places already.
    return undefined;
  }
}
