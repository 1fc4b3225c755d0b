import { isUtf8 } from "node:buffer";
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { MigrationError, systemText } from "../../lib/error.ts";

const require = createRequire(import.meta.url);

/** Bytes. Decisions for every machine of a large site need far less. */
const LIMIT = 16 * 1024 * 1024;

/**
 * The text of a document.
 * @param trusted the file determines where we write, so only this user and root may change it
 * @throws MigrationError N2I-E103
 */
export function readDocument(file: string, { trusted = false } = {}): string {
  const refuse = (reason: string, cause?: unknown): MigrationError =>
    new MigrationError("N2I-E103", `${file} cannot be read: ${reason}`, {
      cause,
      fix: "Specify a file that you can read.",
    });
  try {
    // O_NONBLOCK, because opening a pipe would wait for its writer.
    const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const found = fstatSync(handle);
      if (!found.isFile()) throw refuse("it is not a regular file");
      if (found.size > LIMIT) throw refuse(`it is larger than ${LIMIT} bytes`);
      if (trusted && found.uid !== 0 && found.uid !== (process.getuid?.() ?? found.uid))
        throw refuse(`it belongs to another user (uid ${found.uid})`);
      // As ssh requires for its configuration.
      if (trusted && (found.mode & 0o022) !== 0)
        throw refuse(
          `${(found.mode & 0o002) === 0 ? "its group" : "every user"} may write to it (chmod go-w)`,
        );
      const bytes = readFileSync(handle);
      if (!isUtf8(bytes)) throw refuse("it is not valid UTF-8");
      return bytes.toString("utf8");
    } finally {
      closeSync(handle);
    }
  } catch (cause) {
    throw cause instanceof MigrationError ? cause : refuse(systemText(cause), cause);
  }
}

/** Maximum number of reported faults. Further faults are counted. */
const AT_ONCE = 20;

/** Faults have line and kind, no text, which may be a secret. @throws MigrationError N2I-E103 */
export function parseDocument(text: string, file: string): unknown {
  const refuse = (faults: readonly string[]): MigrationError => {
    const more = faults.length > AT_ONCE ? [`and ${faults.length - AT_ONCE} more`] : [];
    const listed = [...faults.slice(0, AT_ONCE), ...more].join("; ");
    return new MigrationError("N2I-E103", `${file} is not YAML or JSON: ${listed}`);
  };
  try {
    // Loaded on demand.
    const yaml = require("yaml") as typeof import("yaml");
    const document = yaml.parseDocument(text, { logLevel: "silent" });
    const faults = [...document.errors, ...document.warnings].map(({ code, linePos }) => {
      const [at] = linePos ?? [];
      return `line ${at?.line ?? 1}, column ${at?.col ?? 1}: ${code.toLowerCase().replaceAll("_", " ")}`;
    });
    if (faults.length > 0) throw refuse(faults);
    return document.toJS({ maxAliasCount: 0 });
  } catch (cause) {
    if (cause instanceof MigrationError) throw cause;
    // A RangeError is a too deep recursion. Any other error is a refused alias.
    throw refuse([cause instanceof RangeError ? "it is nested too deeply" : "it has aliases"]);
  }
}

/**
 * Positions of a document's paths, computed on demand.
 * @param text accepted by `parseDocument`
 * @returns `line 4, column 9: ` of a JSON pointer, or of its nearest parent
 */
export function locator(text: string): (path: string) => string {
  let parsed: ReturnType<typeof withLines> | null = null;
  return (path) => {
    parsed ??= withLines(text);
    const { document, lines } = parsed;
    const keys = path
      .split("/")
      .slice(1)
      .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
    for (let length = keys.length; length > 0; length -= 1) {
      const node = document.getIn(keys.slice(0, length), true);
      if (typeof node === "object" && node !== null && "range" in node && Array.isArray(node.range))
        return locationOf(lines.linePos(node.range[0]));
    }
    return locationOf({ line: 1, col: 1 });
  };
}

function withLines(text: string) {
  const { LineCounter, parseDocument: parse } = require("yaml") as typeof import("yaml");
  const lines = new LineCounter();
  return { lines, document: parse(text, { logLevel: "silent", lineCounter: lines }) };
}

function locationOf({ line, col }: { readonly line: number; readonly col: number }): string {
  return `line ${line}, column ${col}: `;
}
