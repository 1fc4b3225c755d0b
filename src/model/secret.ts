import { isObject, type Json, type JsonObject } from "../lib/json.ts";

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
  /**
   * Whether it is this text, by its nonce and its length; false where it is another's, of another key or cut short. The
   * ciphertext is not looked at: one that was spoilt at the same length is found by `open` alone.
   */
  readonly isOf: (sealed: Sealed, clear: string) => boolean;
}

export function isSealed(value: unknown): value is Sealed {
  // Last of all `secret`: to look at one that was only read seals it.
  return (
    isObject(value) &&
    typeof value.of === "string" &&
    (readOnly.has(value) || typeof value.secret === "string")
  );
}

/** In clear: what was read of a service to be compared, and is sealed as soon as anybody looks at it. */
const readOnly = new WeakMap<object, string>();

/**
 * A secret that is read to be compared: its clear text is in memory alone, where `isSameText` finds it. Whoever
 * writes, prints or copies the object gets it sealed.
 */
export function sealedLater(clear: string, place: string, { seal }: Pick<Seal, "seal">): Sealed {
  let made: Sealed | undefined;
  const later: Sealed = {
    get secret(): string {
      made ??= seal(clear, place);
      return made.secret;
    },
    of: place,
    ...(clear === "" && { empty: true as const }),
  };
  readOnly.set(later, clear);
  return later;
}

/** Whether two secrets are one text. Where one of them was only read, the other is hardly ever opened. */
export function isSameText(left: Sealed, right: Sealed, { open, isOf }: Seal): boolean {
  const [one, other] = [readOnly.get(left), readOnly.get(right)];
  if (one !== undefined && other === undefined && isOf(right, one)) return true;
  if (other !== undefined && one === undefined && isOf(left, other)) return true;
  return (one ?? open(left)) === (other ?? open(right));
}

const SECRET =
  /pass|pwd|secret|token|cred|community|configdrive|(^|_)key($|_contents|_value)|kg_key|deploy_key/i;
/** What was said of a name: the same few stand in every row. */
const names = new Map<string, boolean>();
const MOST_NAMES = 1000;

/** Names of columns and keys whose value is a secret, here and in forks' columns we never saw. */
export function isSecretName(name: string): boolean {
  const known = names.get(name);
  if (known !== undefined) return known;
  if (names.size >= MOST_NAMES) names.clear();
  const isSecret = SECRET.test(name);
  names.set(name, isSecret);
  return isSecret;
}

/**
 * Whether JSON text may hold a key that `isSecretName` knows. It errs towards yes, and spares most
 * texts a look at every key; an escape might hide any name.
 */
export function mayHoldSecret(json: string): boolean {
  return /pass|pwd|secret|token|cred|community|configdrive|key|\\/i.test(json);
}

/** The value with its secrets in clear: for the way to a service only. */
export function unsealed(value: Json, seal: Pick<Seal, "open">): Json {
  if (isSealed(value)) return seal.open(value);
  return isObject(value) ? eachOf(value, (inner) => unsealed(inner, seal)) : value;
}

/** The object itself where nothing of it becomes another; a copy otherwise. */
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
 * Seals every secret inside a JSON value: what has a secret's name, whatever its type, as old
 * clients made a number of a password of digits, and as lists and objects may be below it. Without
 * any it is the very value that was given.
 *
 * @param known what stands for a value that is not to be sealed; null for all others
 */
export function sealed(
  value: Json,
  seal: Pick<Seal, "seal">,
  place: string,
  known: (value: Json) => Json = UNKNOWN,
): Json {
  if (Array.isArray(value)) {
    const items = value.map((item: Json) => sealed(item, seal, place, known));
    return items.every((item, at) => item === value[at]) ? value : items;
  }
  const instead = known(value);
  if (instead !== null) return instead;
  if (!isObject(value)) return value;
  return eachOf(value, (inner, key) =>
    isSecretName(key) && inner !== null && known(inner) === null && typeof inner !== "boolean"
      ? seal.seal(typeof inner === "string" ? inner : `\0${JSON.stringify(inner)}`, place)
      : sealed(inner, seal, place, known),
  );
}

const UNKNOWN = (): null => null;

/** Stands for the place of a secret whose file no longer has it. */
const UNBOUND = "no machine";

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

const BEGIN = '{"secret":"';
const OF = '","of":"';

/**
 * Whether a line of an artefact, as JSON text, says plainly that each secret in it was sealed for a place like
 * that: a tenth of what `strayed` takes, which has to look where this says no.
 */
export function isPlainlyHome(json: string, isHome: (place: string) => boolean): boolean {
  // An escape could hide a name or a place.
  if (json.includes("\\u")) return false;
  for (let at = json.indexOf("secret"); at >= 0; at = json.indexOf("secret", at)) {
    const begin = at - 2;
    if (!json.startsWith(BEGIN, begin)) return false;
    const text = json.indexOf('"', begin + BEGIN.length);
    const place = text + OF.length;
    const end = json.indexOf('"', place);
    // Nothing may follow that could be another place.
    const closed = json.startsWith("}", end + 1) || json.startsWith(',"empty":true}', end + 1);
    if (text < 0 || end < 0 || !json.startsWith(OF, text) || !closed) return false;
    const of = json.slice(place, end);
    if (of.includes("\\") || !isHome(of.toLowerCase())) return false;
    at = end;
  }
  return true;
}
