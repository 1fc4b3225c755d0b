import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";
import { type FileHandle, open, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { MigrationError, systemCode } from "../../lib/error.ts";
import { notWritten } from "../../lib/files/failure.ts";
import { syncFolder } from "../../lib/files/temp-file.ts";
import { shellArgument } from "../../lib/text.ts";
import type { Seal, Sealed } from "../../model/secret.ts";

/** A multiple of three, so that its base64 is a prefix of the secret. */
const NONCE = 12;
const TAG = 16;

/**
 * Seals with AES-256-GCM. The nonce is the beginning of an HMAC over place and text, so the same
 * secret at the same place has the same bytes, and different texts have different nonces.
 * @param key 32 bytes, see readOrMakeKey
 */
export function createSeal(key: Buffer): Seal & { readonly id: string } {
  const encryption = subkey(key, "encryption");
  const mac = macWith(subkey(key, "nonce"));
  const id = Buffer.from(macWith(key)("nova2ironic key"), "base64").toString("hex", 0, 2);

  // NULs in the place are escaped, so that the first NUL separates it from the text.
  const nonceOf = (clear: string, owner: string): string =>
    mac(`${owner.replaceAll("\0", "\\0")}\0${clear}`).slice(0, (NONCE / 3) * 4);

  const seal = (clear: string, owner: string): Sealed => {
    const bytes = Buffer.alloc(filledLength(Buffer.byteLength(clear)));
    bytes[bytes.write(clear)] = 0x80;
    const nonce = nonceOf(clear, owner);
    const cipher = createCipheriv("aes-256-gcm", encryption, Buffer.from(nonce, "base64"));
    const text = [cipher.update(bytes), cipher.final()];
    const secret = `${nonce}${Buffer.concat([...text, cipher.getAuthTag()]).toString("base64")}`;
    return clear === "" ? { secret, of: owner, empty: true } : { secret, of: owner };
  };

  const open = ({ secret, of: owner }: Sealed): string => {
    const bytes = Buffer.from(secret, "base64");
    if (bytes.length < NONCE + TAG) throw refusal(`a secret was not sealed with this key (${id})`);
    const end = bytes.length - TAG;
    const options = { authTagLength: TAG };
    const decipher = createDecipheriv("aes-256-gcm", encryption, bytes.subarray(0, NONCE), options);
    decipher.setAuthTag(bytes.subarray(end));
    const text = decipher.update(bytes.subarray(NONCE, end));
    try {
      decipher.final();
    } catch {
      throw refusal(`a secret was not sealed with this key (${id})`);
    }
    const clear = text.toString("utf8", 0, text.lastIndexOf(0x80));
    if (!secret.startsWith(nonceOf(clear, owner)))
      throw refusal(
        `a secret is marked for ${owner}, but was sealed for another`,
        "The file was edited. Run extract and plan again.",
      );
    return clear;
  };

  return {
    ...{ id, seal, open },
    // Invalid UTF-16 was sealed as another text, which `open` returns.
    isOf: ({ secret, of }, clear) =>
      secret.length === sealedLength(clear) &&
      secret.startsWith(nonceOf(clear, of)) &&
      !LONE.test(clear),
  };
}

/** Texts are padded to a multiple of this many bytes, to hide their length. */
const FILL = 32;

/** A lone surrogate, which UTF-8 cannot encode. */
const LONE = /\p{Surrogate}/u;

/** The text as UTF-8 is followed by one byte 0x80, then zeros. */
function filledLength(bytes: number): number {
  return (Math.floor(bytes / FILL) + 1) * FILL;
}

/** Characters of base64. */
function sealedLength(clear: string): number {
  return 4 * Math.ceil((NONCE + filledLength(Buffer.byteLength(clear)) + TAG) / 3);
}

/** HMAC-SHA256 in base64. */
function macWith(key: Buffer): (text: string) => string {
  return (text) => createHmac("sha256", key).update(text).digest("base64");
}

function subkey(key: Buffer, use: string): Buffer {
  return Buffer.from(hkdfSync("sha256", key, "", `nova2ironic ${use}`, 32));
}

const HEADER = "nova2ironic/key@1";
const FORM = /^nova2ironic\/key@1\n([0-9a-f]{64})\n$/;
/** Default key file of a run. */
export const KEY = "secret.key";

/** @throws MigrationError N2I-E115 if invalid or readable by others, N2I-E120 */
export async function readOrMakeKey(runFolder: string, keyFile?: string): Promise<Buffer> {
  const path = keyFile ?? join(runFolder, KEY);
  const key = randomBytes(32);
  let handle: FileHandle;
  try {
    handle = await open(path, "wx", 0o600);
  } catch (cause) {
    // A key on a read-only medium fails to open for writing, but can be read.
    const stats = await stat(path).catch(() => null);
    if (stats !== null || systemCode(cause) === "EEXIST") return readKey(runFolder, keyFile);
    throw notWritten(path, cause);
  }
  try {
    await handle.writeFile(`${HEADER}\n${key.toString("hex")}\n`);
    await handle.sync();
  } catch (cause) {
    await rm(path, { force: true }).catch(() => undefined);
    throw notWritten(path, cause);
  } finally {
    await handle.close().catch(() => undefined);
  }
  await syncFolder(dirname(path));
  return key;
}

/** Never makes a key. @throws MigrationError N2I-E115 if missing, invalid, or readable by others */
export async function readKey(runFolder: string, keyFile?: string): Promise<Buffer> {
  const path = keyFile ?? join(runFolder, KEY);
  const unread = (cause: unknown): never => {
    if (systemCode(cause) === "ENOENT") throw refusal(`${path} is missing`);
    const reason = systemCode(cause) ?? "it cannot be read";
    throw new MigrationError("N2I-E115", `cannot read ${path}: ${reason}`, { cause });
  };
  const found = await stat(path).catch(unread);
  if (!found.isFile()) throw refusal(`${path} is not a regular file`);
  if ((found.mode & 0o077) !== 0) {
    const fix = `Run: chmod 600 ${shellArgument(path)}. If other users may have read it, change the BMC passwords.`;
    throw refusal(`${path} is open to other users (mode ${(found.mode & 0o777).toString(8)})`, fix);
  }
  if (found.size === 0) {
    const fix = `A killed run may have left it. Run: rm ${shellArgument(path)}, then run extract again.`;
    throw refusal(`${path} is empty`, fix);
  }
  const text = found.size > 4096 ? "" : await readFile(path, "latin1").catch(unread);
  const [, hex] = FORM.exec(text) ?? [];
  if (hex === undefined) throw refusal(`${path} is not a key of nova2ironic (${HEADER})`);
  return Buffer.from(hex, "hex");
}

function refusal(message: string, fix?: string): MigrationError {
  return new MigrationError("N2I-E115", message, fix === undefined ? {} : { fix });
}
