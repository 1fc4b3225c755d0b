import { createHash } from "node:crypto";
import { constants, type FileHandle, open } from "node:fs/promises";
import type { ArtefactKind } from "../../model/artefact.ts";
import { MigrationError, systemCode } from "../../model/error.ts";
import type { JsonObject } from "../../model/json.ts";
import type { RefusalCode } from "../../model/refusals.ts";
import { LONGEST_FOOTER, LONGEST_LINE, parseFooter } from "./artefact-form.ts";
import { notRead } from "./failure.ts";

/** What tells that a path still leads to the very file, unchanged, that was looked at. */
export interface Identity {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
}

/** What the end of an artefact says. */
export interface ArtefactEnd {
  readonly counts: JsonObject;
  readonly sha256: string;
  /** Bytes before the footer's line. */
  readonly body: number;
  readonly identity: Identity;
}

const STAGES: { readonly [kind in ArtefactKind | "plan"]: string } = {
  plan: "plan",
  snapshot: "extract",
  power: "power",
  machines: "plan",
  nova: "plan --nova-db",
  "nova-findings": "plan --nova-db",
};

const BLOCK = 1024 * 1024;
const FOOTER_WITHIN = Buffer.from('\n{"footer":');

/** @throws MigrationError N2I-E110 */
export async function openFile(path: string, kind: keyof typeof STAGES): Promise<FileHandle> {
  try {
    // O_NONBLOCK: to open a pipe would wait for its writer.
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    if (!["ENOENT", "ENOTDIR"].includes(systemCode(cause) ?? "")) throw notRead(path, cause);
    const fix = `Run the stage that makes it: nova2ironic ${STAGES[kind]}`;
    throw new MigrationError("N2I-E110", `${path} does not exist`, { cause, fix });
  }
}

export async function identify(file: FileHandle): Promise<Identity> {
  const { dev, ino, size, mtimeNs } = await file.stat({ bigint: true });
  return { dev, ino, size, mtimeNs };
}

/**
 * What header and footer say, the bytes between them unseen.
 *
 * @throws MigrationError N2I-E111, N2I-E112, N2I-E113
 */
export async function readEnding(
  file: FileHandle,
  path: string,
  kind: ArtefactKind,
): Promise<ArtefactEnd> {
  if (!(await file.stat()).isFile()) throw refusal("N2I-E113", path, "is not a regular file");
  const identity = await identify(file);
  const size = Number(identity.size);
  checkFormat((await bytesAt(file, 0, Math.min(size, 256))).toString("latin1"), path, kind);
  const from = Math.max(0, size - LONGEST_FOOTER);
  const tail = await bytesAt(file, from, size - from);
  if (tail.at(-1) !== 0x0a) throw refusal("N2I-E111", path, "ends within a line");
  const start = tail.lastIndexOf(0x0a, tail.length - 2) + 1;
  const footer = parseFooter(tail.toString("utf8", start, tail.length - 1));
  if (footer.kind === "absent") throw refusal("N2I-E111", path, "has no footer");
  if (footer.kind === "edited") throw refusal("N2I-E112", path, "has a footer that was changed");
  return { counts: footer.counts, sha256: footer.sha256, body: from + start, identity };
}

/**
 * Reads the whole file once and compares it with its footer.
 *
 * @throws MigrationError N2I-E112 when it differs, or has a footer or a line over 16 MiB within
 */
export async function checkBody(
  file: FileHandle,
  path: string,
  ending: ArtefactEnd,
): Promise<void> {
  const hash = createHash("sha256");
  const block = Buffer.allocUnsafe(Math.min(BLOCK, ending.body));
  let sinceNewline = 0;
  let longest = 0;
  let seam = Buffer.alloc(0);
  let footers = 0;
  for (let at = 0; at < ending.body; ) {
    const wanted = Math.min(block.length, ending.body - at);
    const { bytesRead } = await file.read(block, 0, wanted, at);
    if (bytesRead === 0) throw refusal("N2I-E111", path, "became shorter while it was read");
    const read = block.subarray(0, bytesRead);
    hash.update(read);
    at += bytesRead;
    seam = Buffer.concat([seam, read.subarray(0, FOOTER_WITHIN.length)]);
    if (seam.includes(FOOTER_WITHIN) || read.includes(FOOTER_WITHIN)) footers += 1;
    seam = Buffer.from(read.subarray(-FOOTER_WITHIN.length));
    let start = 0;
    for (let end = read.indexOf(0x0a); end >= 0; end = read.indexOf(0x0a, start)) {
      longest = Math.max(longest, sinceNewline + end - start);
      sinceNewline = 0;
      start = end + 1;
    }
    sinceNewline += bytesRead - start;
  }
  if (hash.digest("hex") !== ending.sha256) {
    throw refusal("N2I-E112", path, "does not match the digest in its footer");
  }
  if (footers > 0) throw refusal("N2I-E112", path, "has a footer before its end");
  if (longest > LONGEST_LINE) throw refusal("N2I-E112", path, `has a line of ${longest} bytes`);
}

export function refusal(code: RefusalCode, path: string, fact: string): MigrationError {
  return new MigrationError(code, `${path} ${fact}`, code === "N2I-E112" ? CHANGED : {});
}

const CHANGED = {
  why: "Its content does not match the digest in its footer.",
  fix: "Run the stage that writes it again; put decisions into the site document, not into artefacts.",
};

function checkFormat(head: string, path: string, kind: ArtefactKind): void {
  const wanted = formatOf(kind);
  if (isOf(wanted, head, path)) return;
  if (`{"format":"${wanted}"`.startsWith(head))
    throw refusal("N2I-E111", path, "ends within its header");
  throw refusal("N2I-E113", path, "is not an artefact of this tool");
}

/** Whether a file begins as one of this format. @throws MigrationError N2I-E113 for one of another */
export function isOf(wanted: string, head: string, path: string): boolean {
  const [, format] = /^\s*\{\s*"format"\s*:\s*"([\w/@.-]*)"/.exec(head) ?? [];
  if (format === undefined || format === wanted) return format === wanted;
  throw refusal("N2I-E113", path, `is ${format}, not ${wanted} as wanted here`);
}

function formatOf(kind: ArtefactKind): string {
  return `nova2ironic/${kind}@${kind === "nova" ? 2 : 1}`;
}

/** @param length bytes; fewer come when the file became shorter meanwhile */
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
