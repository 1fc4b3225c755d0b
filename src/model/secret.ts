import { isObject, type Json, type JsonObject } from "../lib/json.ts";

/**
 * AES-256-GCM with a nonce derived from key, place and text, so the same secret at the same place
 * has the same bytes. Without the key it reveals nothing: the length is padded, and equal secrets
 * of two machines differ.
 */
export type Sealed = {
  /** base64 of nonce (12 bytes), ciphertext and tag (16 bytes). */
  readonly secret: string;
  /** Place for which it was sealed. It cannot be opened for another one. */
  readonly of: string;
  /** Only for the empty text, which findings report anyway. */
  readonly empty?: true;
};

/** Seals and opens the secrets of one run. The implementation with the key is in run/files. */
export interface Seal {
  /** @param owner owner of the secret (a machine's uuid): equal secrets of two machines differ */
  readonly seal: (clear: string, owner: string) => Sealed;
  /** @throws MigrationError N2I-E115 if sealed with another key or for another place */
  readonly open: (sealed: Sealed) => string;
  /** By nonce and length. Only `open` detects a ciphertext corrupted at the same length. */
  readonly isOf: (sealed: Sealed, clear: string) => boolean;
}

export function isSealed(value: unknown): value is Sealed {
  // `secret` comes last, because its getter seals a secret that was only read.
  return (
    isObject(value) &&
    typeof value.of === "string" &&
    (readOnly.has(value) || typeof value.secret === "string")
  );
}

/** Clear text of secrets that were read for a comparison, and are sealed on first access. */
const readOnly = new WeakMap<object, string>();

/**
 * A secret that was read for a comparison. Its clear text is only in memory, for `isSameText`. The
 * object is sealed when it is written, printed or copied.
 */
export function sealedLater(clear: string, owner: string, { seal }: Pick<Seal, "seal">): Sealed {
  let made: Sealed | undefined;
  const later: Sealed = {
    get secret(): string {
      made ??= seal(clear, owner);
      return made.secret;
    },
    of: owner,
    ...(clear === "" && { empty: true as const }),
  };
  readOnly.set(later, clear);
  return later;
}

/** Compares secrets. If one was only read, the other is rarely decrypted. */
export function isSameText(left: Sealed, right: Sealed, { open, isOf }: Seal): boolean {
  const [one, other] = [readOnly.get(left), readOnly.get(right)];
  if (one !== undefined && other === undefined && isOf(right, one)) return true;
  if (other !== undefined && one === undefined && isOf(left, other)) return true;
  return (one ?? open(left)) === (other ?? open(right));
}

const SECRET =
  /pass|pwd|secret|token|cred|community|configdrive|(^|_)key($|_contents|_value)|kg_key|deploy_key/i;
/** Cache, because rows have few different names. */
const names = new Map<string, boolean>();
const MOST_NAMES = 1000;

/** Names of columns and keys with secret values, also in columns of forks. */
export function isSecretName(name: string): boolean {
  const cached = names.get(name);
  if (cached !== undefined) return cached;
  if (names.size >= MOST_NAMES) names.clear();
  const isSecret = SECRET.test(name);
  names.set(name, isSecret);
  return isSecret;
}

/** To skip a full check. An escape may hide any name, so it counts as yes. */
export function mayContainSecret(json: string): boolean {
  return /pass|pwd|secret|token|cred|community|configdrive|key|\\/i.test(json);
}

/** Decrypts the secrets of a value, only for a request to a service. */
export function unsealed(value: Json, seal: Pick<Seal, "open">): Json {
  if (isSealed(value)) return seal.open(value);
  return isObject(value) ? eachOf(value, (inner) => unsealed(inner, seal)) : value;
}

/** The object itself if nothing changes, else a copy. */
function eachOf(value: JsonObject, become: (inner: Json, key: string) => Json): JsonObject {
  let copy: Record<string, Json> | null = null;
  for (const key of Object.keys(value)) {
    const inner = value[key] ?? null;
    const made = become(inner, key);
    if (made === inner) continue;
    copy ??= { ...value };
    copy[key] = made;
  }
  return copy ?? value;
}

/**
 * Seals every value with a secret name in a JSON value, of any type, because old clients stored
 * numeric passwords as numbers. Returns the same object if it has no secret.
 * @param replace replacement of a value that is not sealed, else null
 */
export function sealed(
  value: Json,
  seal: Pick<Seal, "seal">,
  owner: string,
  replace: (value: Json) => Json = () => null,
): Json {
  if (Array.isArray(value)) {
    const items = value.map((item: Json) => sealed(item, seal, owner, replace));
    return items.every((item, at) => item === value[at]) ? value : items;
  }
  const instead = replace(value);
  if (instead !== null) return instead;
  if (!isObject(value)) return value;
  return eachOf(value, (inner, key) =>
    isSecretName(key) && inner !== null && replace(inner) === null && typeof inner !== "boolean"
      ? seal.seal(typeof inner === "string" ? inner : `\0${JSON.stringify(inner)}`, owner)
      : sealed(inner, seal, owner, replace),
  );
}

/** The place of a secret that belongs elsewhere, or null. A missing secret has no place. */
export function strayed(value: Json, isHome: (owner: string) => boolean): string | null {
  if (typeof value !== "object" || value === null) return null;
  if (isSealed(value))
    return value.secret === "" || isHome(value.of.toLowerCase()) ? null : value.of;
  // The keys of a list are its indexes.
  const fields = value as JsonObject;
  if (typeof fields.secret === "string" && typeof fields.length === "number" && isObject(value))
    return "no machine";
  for (const name in fields) {
    const inner = fields[name];
    if (typeof inner !== "object" || inner === null) continue;
    const found = strayed(inner, isHome);
    if (found !== null) return found;
  }
  return null;
}

const BEGIN = '{"secret":"';
const OF = '","of":"';

/** Ten times faster than the full check, which follows if the result is false. */
export function isPlainlyHome(json: string, isHome: (owner: string) => boolean): boolean {
  // An escape could hide a name or a place.
  if (json.includes("\\u")) return false;
  for (let at = json.indexOf("secret"); at >= 0; at = json.indexOf("secret", at)) {
    const begin = at - 2;
    if (!json.startsWith(BEGIN, begin)) return false;
    const text = json.indexOf('"', begin + BEGIN.length);
    const start = text + OF.length;
    const end = json.indexOf('"', start);
    // Only the end of the object, which cannot contain another place.
    const closed = json.startsWith("}", end + 1) || json.startsWith(',"empty":true}', end + 1);
    if (text < 0 || end < 0 || !json.startsWith(OF, text) || !closed) return false;
    const of = json.slice(start, end);
    if (of.includes("\\") || !isHome(of.toLowerCase())) return false;
    at = end;
  }
  return true;
}
