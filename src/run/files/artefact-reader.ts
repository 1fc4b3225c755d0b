import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { constants, type FileHandle, open } from "node:fs/promises";
import { setImmediate as turn } from "node:timers/promises";
import { MigrationError, systemCode } from "../../lib/error.ts";
import { notRead, writtenOf } from "../../lib/files/failure.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { RefusalCode } from "../../lib/refusals.ts";
import type { ArtefactKind } from "../../model/artefact.ts";
import { LONGEST_FOOTER, parseFooter, parseObject } from "./artefact-form.ts";

/** Checks a line and its text before it is returned. Throws if it refuses the line. */
type Check<Line> = (line: Line, value: JsonObject, text: string) => void;

/**
 * Bytes per read, which also checks that the file is unchanged. For a text from 128 KiB on, V8
 * allocates separate pages, at five times the cost.
 */
const READ = 96 * 1024;
/** Bytes per read of the digest. */
const DIGESTED = 1024 * 1024;
const BATCH = 32;

/**
 * Opens an artefact after its whole content was compared with its digest, so no line of a damaged
 * file is ever returned. The digest replaces a check of types, because only the owner of the file
 * could forge it.
 * @throws MigrationError N2I-E110 missing, N2I-E111 truncated, N2I-E112 edited, N2I-E113 other
 */
export async function openArtefact<Header = JsonObject, Line = JsonObject, Counts = JsonObject>(
  path: string,
  kind: ArtefactKind,
  check: Check<Line> = () => undefined,
) {
  const file = await openFile(path, kind);
  try {
    const ending = await readEnding(file, path, kind);
    await checkBody(file, path, ending);
    const { sha256, counts } = ending;
    return {
      // Format and digest were checked, instead of each field.
      header: (await headerOf(file, path, ending)) as Header,
      footer: { footer: counts as Counts, sha256 },
      /** Lines in batches, from the first at each call. Memory is one batch. */
      lines: (): AsyncIterable<Line[]> => linesOf(path, kind, ending, check),
    };
  } catch (cause) {
    throw notRead(path, cause);
  } finally {
    await file.close();
  }
}

/** The digest of an artefact, after the check. */
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
      await turn(); // let other work run before parsing more
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
          check(read, value, line);
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

/** The text before the footer in pieces of complete lines, without the last newline of each. */
async function* blocks(
  file: FileHandle,
  path: string,
  ending: ArtefactEnd,
): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  for (let at = 0; at < ending.body; ) {
    const read = await bytesAt(file, at, Math.min(READ, ending.body - at));
    const now = await file.stat({ bigint: true });
    if (read.length === 0 || writtenOf(now) !== writtenOf(ending.state)) {
      throw refusal("N2I-E112", path, "changed while it was read");
    }
    if (now.ctimeNs !== ending.state.ctimeNs) {
      // A backup link or a mode change looks like a restored mtime, so compare the content again.
      await checkBody(file, path, ending);
      ending.state = now;
      continue;
    }
    at += read.length;
    const end = read.lastIndexOf(0x0a);
    rest.push(end < 0 ? read : read.subarray(0, end));
    if (end < 0) continue;
    const block = Buffer.concat(rest);
    if (!isUtf8(block)) throw refusal("N2I-E112", path, "is not valid UTF-8");
    yield block.toString("utf8");
    rest = [read.subarray(end + 1)];
  }
}

type ArtefactEnd = Awaited<ReturnType<typeof readEnding>>;

const STAGES: { readonly [kind in ArtefactKind | "plan"]: string } = {
  plan: "plan",
  snapshot: "extract",
  power: "power",
  machines: "plan",
  nova: "plan --nova-db",
  "nova-findings": "plan --nova-db",
  moves: "host plan",
};

/** @throws MigrationError N2I-E110 */
export async function openFile(path: string, kind: keyof typeof STAGES): Promise<FileHandle> {
  try {
    // O_NONBLOCK, because opening a pipe would wait for its writer.
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    if (!["ENOENT", "ENOTDIR"].includes(systemCode(cause) ?? "")) throw notRead(path, cause);
    const fix = `Run the stage that creates it: nova2ironic ${STAGES[kind]}`;
    throw new MigrationError("N2I-E110", `${path} does not exist`, { cause, fix });
  }
}

/** Reads only header and footer. @throws MigrationError N2I-E111, N2I-E112, N2I-E113 */
async function readEnding(file: FileHandle, path: string, kind: ArtefactKind) {
  const state = await file.stat({ bigint: true });
  if (!state.isFile()) throw refusal("N2I-E113", path, "is not a regular file");
  const size = Number(state.size);
  checkFormat((await bytesAt(file, 0, Math.min(size, 256))).toString("latin1"), path, kind);
  const from = Math.max(0, size - LONGEST_FOOTER);
  const tail = await bytesAt(file, from, size - from);
  if (tail.at(-1) !== 0x0a) throw refusal("N2I-E111", path, "ends within a line");
  const start = tail.lastIndexOf(0x0a, tail.length - 2) + 1;
  const footer = parseFooter(tail.toString("utf8", start, tail.length - 1));
  if (footer === "absent") throw refusal("N2I-E111", path, "has no footer");
  if (footer === "edited") throw refusal("N2I-E112", path, "has a changed footer");
  return {
    ...footer,
    /** Bytes before the footer line. */
    body: from + start,
    /** State of the file when its digest was checked. */
    state,
  };
}

/** @throws MigrationError N2I-E112 if it differs */
async function checkBody(
  file: FileHandle,
  path: string,
  { body, sha256 }: ArtefactEnd,
): Promise<void> {
  const hash = createHash("sha256");
  for (let at = 0; at < body; ) {
    const read = await bytesAt(file, at, Math.min(DIGESTED, body - at));
    if (read.length === 0) break; // it became shorter, so the digest differs
    hash.update(read);
    at += read.length;
  }
  if (hash.digest("hex") !== sha256)
    throw refusal("N2I-E112", path, "does not match the digest in its footer");
}

export function refusal(code: RefusalCode, path: string, fact: string): MigrationError {
  return new MigrationError(code, `${path} ${fact}`, code === "N2I-E112" ? CHANGED : {});
}

const CHANGED = {
  reason: "Its content does not match the digest in its footer.",
  fix: "Run the stage that writes it again. Put decisions into the site document, not into artefacts.",
};

function checkFormat(head: string, path: string, kind: ArtefactKind): void {
  const expected = `nova2ironic/${kind}@${SECOND.includes(kind) ? 2 : 1}`;
  if (isOf(expected, head, path)) return;
  if (`{"format":"${expected}"`.startsWith(head))
    throw refusal("N2I-E111", path, "ends within its header");
  throw refusal("N2I-E113", path, "is not an artefact of nova2ironic");
}

/** Whether a file starts with this format. @throws MigrationError N2I-E113 for another format */
export function isOf(expected: string, head: string, path: string): boolean {
  const [, format] = /^\s*\{\s*"format"\s*:\s*"([\w/@.-]*)"/.exec(head) ?? [];
  if (format === undefined || format === expected) return format === expected;
  throw refusal("N2I-E113", path, `is ${format}, but ${expected} is required`);
}

/** Formats with version 2. Others have version 1. */
const SECOND: readonly ArtefactKind[] = ["nova", "snapshot"];

/** @param length bytes. Returns fewer if the file became shorter */
async function bytesAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let got = 0;
  while (got < length) {
    const { bytesRead } = await file.read(buffer, got, length - got, position + got);
    if (bytesRead === 0) break;
    got += bytesRead;
  }
  return buffer.subarray(0, got);
}
