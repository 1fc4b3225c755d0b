import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from "node:crypto";
import { MigrationError } from "../../model/error.ts";
import type { Seal, Sealed } from "../../model/secret.ts";

export { readKey, readOrMakeKey } from "./key-file.ts";

const NONCE = 12;
const TAG = 16;
/** Plans name a machine's secrets more than once, close together; more would only hold memory. */
const REMEMBERED = 64;

/**
 * Seals with AES-256-GCM. The nonce is the start of an HMAC over place and text: the same secret
 * at the same place gives the same bytes, and one nonce never serves two texts.
 *
 * @param key 32 bytes, see readOrMakeKey
 */
export function createSeal(key: Buffer): Seal & { readonly id: string } {
  const encryption = subkey(key, "encryption");
  const nonces = subkey(key, "nonce");
  const id = hmac(key, "nova2ironic key").toString("hex", 0, 2);

  // A NUL in the place would let two texts share a nonce; without one the text starts at the first.
  const nonceOf = (clear: string, place: string): Buffer =>
    hmac(nonces, `${place.replaceAll("\0", "\\0")}\0${clear}`).subarray(0, NONCE);

  const seal = (clear: string, place: string): Sealed => {
    const nonce = nonceOf(clear, place);
    const cipher = createCipheriv("aes-256-gcm", encryption, nonce);
    const text = cipher.update(filled(clear));
    cipher.final();
    const secret = Buffer.concat([nonce, text, cipher.getAuthTag()]).toString("base64");
    return { secret, of: place, ...(clear === "" && { empty: true as const }) };
  };

  const open = (secret: string, place: string): string => {
    const bytes = Buffer.from(secret, "base64");
    if (bytes.length < NONCE + TAG) throw foreign(id);
    const end = bytes.length - TAG;
    const options = { authTagLength: TAG };
    const decipher = createDecipheriv("aes-256-gcm", encryption, bytes.subarray(0, NONCE), options);
    decipher.setAuthTag(bytes.subarray(end));
    const text = decipher.update(bytes.subarray(NONCE, end));
    try {
      decipher.final();
    } catch {
      throw foreign(id);
    }
    const clear = emptied(text);
    if (!bytes.subarray(0, NONCE).equals(nonceOf(clear, place)))
      throw new MigrationError("N2I-E115", `a secret is told to be of ${place} and is not`, {
        fix: "Somebody edited the file. Run extract and plan again.",
      });
    return clear;
  };

  const sealed = remember(seal, (clear, place) => `${place.length}:${place}${clear}`);
  const opened = remember(open, (secret, place) => `${secret} ${place}`);
  return { id, seal: sealed, open: ({ secret, of }) => opened(secret, of) };
}

/** Bytes a text is filled up to a multiple of, so that its length is not told. */
const FILL = 32;

/** One byte 0x80, then zeros. */
function filled(clear: string): Buffer {
  const text = Buffer.from(clear, "utf8");
  const whole = Buffer.alloc((Math.floor(text.length / FILL) + 1) * FILL);
  text.copy(whole);
  whole[text.length] = 0x80;
  return whole;
}

function emptied(whole: Buffer): string {
  return whole.toString("utf8", 0, whole.lastIndexOf(0x80));
}

function subkey(key: Buffer, use: string): Buffer {
  return Buffer.from(hkdfSync("sha256", key, "", `nova2ironic ${use}`, 32));
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text, "utf8").digest();
}

function foreign(id: string): MigrationError {
  return new MigrationError("N2I-E115", `a secret was not sealed with this key (${id})`);
}

/** `make`, but for the last results, which are given again. */
function remember<In extends readonly unknown[], Out extends NonNullable<unknown>>(
  make: (...input: In) => Out,
  name: (...input: In) => string,
): (...input: In) => Out {
  const last = new Map<string, Out>();
  return (...input) => {
    const key = name(...input);
    const known = last.get(key);
    if (known !== undefined) return known;
    const made = make(...input);
    const [oldest] = last.size < REMEMBERED ? [] : last.keys();
    if (oldest !== undefined) last.delete(oldest);
    last.set(key, made);
    return made;
  };
}
