import { isObject } from "./json.ts";

/**
 * A secret as artefacts hold it: AES-256-GCM with a nonce derived from key, place and text, so the
 * same secret at the same place gives the same bytes. Without the key it tells its length only.
 */
export type Sealed = {
  /** base64 of nonce (12 bytes), ciphertext and tag (16 bytes). */
  readonly secret: string;
  /** Characters of the clear text. */
  readonly length: number;
};

/** Seals and opens the secrets of one run. Implemented by the disk edge, which holds the key. */
export interface Seal {
  /** @param place what the secret belongs to (a machine's uuid): it keeps equal secrets of two machines apart */
  readonly seal: (clear: string, place: string) => Sealed;
  /** @throws MigrationError N2I-E115 when it was sealed with another key */
  readonly open: (sealed: Sealed) => string;
  /** Four hex digits that tell two secrets of one run apart without telling either. */
  readonly fingerprint: (sealed: Sealed) => string;
}

export function isSealed(value: unknown): value is Sealed {
  return isObject(value) && typeof value.secret === "string" && typeof value.length === "number";
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
