import { isObject, type Json, type JsonObject } from "./json.ts";

/**
 * A secret as artefacts hold it: AES-256-GCM with a nonce derived from key, place and text, so the
 * same secret at the same place gives the same bytes. Without the key it tells nothing: not its
 * length, which is filled up, nor whether another machine has the same.
 */
export type Sealed = {
  /** base64 of nonce (12 bytes), ciphertext and tag (16 bytes). */
  readonly secret: string;
  /** The place it was sealed for; it does not open with another one. */
  readonly of: string;
  /** Said of the empty text alone, which findings name anyway. */
  readonly empty?: true;
};

/** Seals and opens the secrets of one run. Implemented by the disk edge, which holds the key. */
export interface Seal {
  /** @param place what the secret belongs to (a machine's uuid): it keeps equal secrets of two machines apart */
  readonly seal: (clear: string, place: string) => Sealed;
  /** @throws MigrationError N2I-E115 when it was sealed with another key, or for another place */
  readonly open: (sealed: Sealed) => string;
}

export function isSealed(value: unknown): value is Sealed {
  return isObject(value) && typeof value.secret === "string" && typeof value.of === "string";
}

/** Names of columns and keys whose value is a secret, here and in forks' columns we never saw. */
export function isSecretName(name: string): boolean {
  return /pass|pwd|secret|token|cred|community|configdrive|(^|_)key($|_contents|_value)|kg_key|deploy_key/i.test(
    name,
  );
}

/**
 * Whether JSON text may hold a key that `isSecretName` knows. It errs towards yes, and spares most
 * texts a look at every key; an escape might hide any name.
 */
export function mayHoldSecret(json: string): boolean {
  return /pass|pwd|secret|token|cred|community|configdrive|key|\\/i.test(json);
}

function holdsSealed(value: Json): boolean {
  return isObject(value) && (isSealed(value) || Object.values(value).some(holdsSealed));
}

/** The value with its secrets in clear: for the way to a service only. */
export function unsealed(value: Json, seal: Seal): Json {
  if (isSealed(value)) return seal.open(value);
  if (!isObject(value) || !holdsSealed(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, unsealed(inner, seal)]),
  );
}

/**
 * Seals every secret inside a JSON value: what has a secret's name, whatever its type, as old
 * clients made a number of a password of digits, and as lists and objects may be below it.
 *
 * @param known what stands for a value that is not to be sealed; null for all others
 */
export function sealed(
  value: Json,
  seal: Seal,
  place: string,
  known: (value: Json) => Json = () => null,
): Json {
  if (Array.isArray(value)) return value.map((item: Json) => sealed(item, seal, place, known));
  const instead = known(value);
  if (instead !== null) return instead;
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      isSecretName(key) && inner !== null && known(inner) === null && typeof inner !== "boolean"
        ? seal.seal(secretText(inner), place)
        : sealed(inner, seal, place, known),
    ]),
  );
}

/** Begins with a NUL where it is no string, so that the number 1234 is not the password "1234". */
function secretText(value: Json): string {
  return typeof value === "string" ? value : `\0${JSON.stringify(value)}`;
}

/** In place of a secret's place: it was sealed by a version that did not bind it to one. */
export const UNBOUND = "an earlier version";

/**
 * The place of the first secret in a value that was sealed for another place; null when all are where
 * they belong. What stands for a secret that nobody gave is of no place.
 */
export function strayed(value: Json, isHome: (place: string) => boolean): string | null {
  if (typeof value !== "object" || value === null) return null;
  if (isSealed(value))
    return value.secret === "" || isHome(value.of.toLowerCase()) ? null : value.of;
  // Of a list the names are its places.
  const fields = value as JsonObject;
  if (typeof fields.secret === "string" && typeof fields.length === "number" && isObject(value))
    return UNBOUND;
  for (const name in fields) {
    const inner = fields[name];
    if (typeof inner !== "object" || inner === null) continue;
    const found = strayed(inner, isHome);
    if (found !== null) return found;
  }
  return null;
}
