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

/** Looks at a line before it is given out; it throws what it refuses. */
type Check<Line> = (line: Line, value: JsonObject) => void;

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
 * is truncated, edited or another's is ever given out. Its types take the digest's word: under this
 * format, this tool wrote them; whoever forges a digest deceives only the operator who owns the file.
 *
 * @throws MigrationError N2I-E110 missing, N2I-E111 truncated, N2I-E112 edited, N2I-E113 other
 */
export async function openArtefact<Header = JsonObject, Line = JsonObject, Counts = JsonObject>(
  path: string,
  kind: ArtefactKind,
  check: Check<Line> = () => undefined,
): Promise<ArtefactReader<Header, Line, Counts>> {
  const file = await openFile(path, kind);
  try {
    const ending = await readEnding(file, path, kind);
    await checkBody(file, path, ending);
    const { sha256, counts } = ending;
    return {
      // Format and digest were checked; they stand for a check of each field, of lines too.
      header: (await headerOf(file, path, ending)) as Header,
      footer: { footer: counts as Counts, sha256 },
      lines: () => linesOf(path, kind, ending, check),
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
  check: Check<Line>,
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
          if (value === null)
            throw refusal("N2I-E112", path, `has a line that is not a JSON object: ${number}`);
          const read = value as Line;
          check(read, value);
          return read;
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
