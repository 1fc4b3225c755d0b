import { isObject } from "./json.ts";

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
