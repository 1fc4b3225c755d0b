import { isUtf8 } from "node:buffer";
import type { FileHandle } from "node:fs/promises";
import type { ArtefactKind, Footer } from "../../model/artefact.ts";
import type { JsonObject } from "../../model/json.ts";
import {
  type ArtefactEnd,
  checkBody,
  type Identity,
  identify,
  openFile,
  readEnding,
  refusal,
} from "./artefact-check.ts";
import { parseObject } from "./artefact-form.ts";
import { notRead } from "./failure.ts";

/** How the objects of an artefact become what the caller works with; each throws what it refuses. */
export interface ArtefactParsers<Header, Line, Counts> {
  readonly header: (value: JsonObject) => Header;
  /** @param number of the line, from 1; the header is line 0 */
  readonly line: (value: JsonObject, number: number) => Line;
  readonly counts: (value: JsonObject) => Counts;
}

export interface ArtefactReader<Header, Line, Counts> {
  readonly header: Header;
  readonly footer: Footer<Counts>;
  /** The lines in batches, from the first, each time it is called; memory is that of one batch. */
  readonly lines: () => AsyncIterable<Line[]>;
}

/** Small, so that what was parsed is garbage before the collector has to copy it. */
const BLOCK = 128 * 1024;
const BATCH = 32;

/**
 * Opens an artefact after it was read once and compared with its digest: no line of a file that
 * is truncated, edited or another's is ever given out. Without parsers it gives plain objects.
 *
 * @throws MigrationError N2I-E110 missing, N2I-E111 truncated, N2I-E112 edited, N2I-E113 other
 */
export function openArtefact(
  path: string,
  kind: ArtefactKind,
): Promise<ArtefactReader<JsonObject, JsonObject, JsonObject>>;
export function openArtefact<Header, Line, Counts>(
  path: string,
  kind: ArtefactKind,
  parse: ArtefactParsers<Header, Line, Counts>,
): Promise<ArtefactReader<Header, Line, Counts>>;
export async function openArtefact(
  path: string,
  kind: ArtefactKind,
  parse: ArtefactParsers<unknown, unknown, unknown> = PLAIN,
): Promise<ArtefactReader<unknown, unknown, unknown>> {
  const file = await openFile(path, kind);
  try {
    const ending = await readEnding(file, path, kind);
    await checkBody(file, path, ending);
    return {
      header: parse.header(await headerOf(file, path, ending)),
      footer: { footer: parse.counts(ending.counts), sha256: ending.sha256 },
      lines: () => linesOf(path, kind, ending, parse.line),
    };
  } catch (cause) {
    throw notRead(path, cause);
  } finally {
    await file.close();
  }
}

/** The digest of an artefact, after the file was compared with it. */
export async function digestOnly(path: string, kind: ArtefactKind): Promise<string> {
  return (await openArtefact(path, kind)).footer.sha256;
}

/**
 * A parser that takes the digest's word: under this format, this tool wrote a T there. For the
 * records of the model; whoever forges a digest deceives only the operator who owns the file.
 */
export function asWritten<T extends object>(value: JsonObject): T {
  // The format and the digest in the footer were checked; they stand for a check of each field.
  return value as unknown as T;
}

const PLAIN: ArtefactParsers<JsonObject, JsonObject, JsonObject> = {
  header: (value) => value,
  line: (value) => value,
  counts: (value) => value,
};

async function headerOf(file: FileHandle, path: string, ending: ArtefactEnd): Promise<JsonObject> {
  for await (const text of blocks(file, path, ending)) {
    const [line = ""] = text.split("\n", 1);
    const header = parseObject(line);
    if (header !== null) return header;
  }
  throw refusal("N2I-E113", path, "has a header that is not a JSON object");
}

async function* linesOf<Line>(
  path: string,
  kind: ArtefactKind,
  ending: ArtefactEnd,
  parse: (value: JsonObject, number: number) => Line,
): AsyncGenerator<Line[]> {
  const file = await openFile(path, kind);
  try {
    let number = -1;
    for await (const text of blocks(file, path, ending)) {
      const lines = text.split("\n");
      if (number < 0) lines.shift(); // the header
      number = Math.max(number, 0);
      for (let from = 0; from < lines.length; from += BATCH) {
        yield lines.slice(from, from + BATCH).map((line) => {
          number += 1;
          const value = parseObject(line);
          if (value !== null) return parse(value, number);
          throw refusal("N2I-E112", path, `has a line that is not a JSON object: ${number}`);
        });
      }
    }
  } catch (cause) {
    throw notRead(path, cause);
  } finally {
    await file.close();
  }
}

/** The text before the footer in pieces of whole lines, the last newline of each left out. */
async function* blocks(
  file: FileHandle,
  path: string,
  ending: ArtefactEnd,
): AsyncGenerator<string> {
  let block = Buffer.allocUnsafe(Math.min(BLOCK, ending.body));
  let kept = 0;
  for (let at = 0; at < ending.body; ) {
    if (kept === block.length) block = Buffer.concat([block, Buffer.allocUnsafe(kept)]);
    const wanted = Math.min(block.length - kept, ending.body - at);
    const { bytesRead } = await file.read(block, kept, wanted, at);
    if (bytesRead === 0 || !same(await identify(file), ending.identity)) {
      throw refusal("N2I-E112", path, "changed while it was read");
    }
    at += bytesRead;
    const filled = kept + bytesRead;
    const end = block.lastIndexOf(0x0a, filled - 1);
    if (end >= 0) {
      const whole = block.subarray(0, end);
      if (!isUtf8(whole)) throw refusal("N2I-E112", path, "is not UTF-8 throughout");
      yield whole.toString("utf8");
    }
    block.copyWithin(0, end + 1, filled);
    kept = filled - end - 1;
  }
}

function same(one: Identity, other: Identity): boolean {
  return (
    one.dev === other.dev &&
    one.ino === other.ino &&
    one.size === other.size &&
    one.mtimeNs === other.mtimeNs
  );
}
