import { createHash } from "node:crypto";
import type { Json } from "./json.ts";
import { isSealed } from "./secret.ts";

/**
 * Tells two questions apart without telling their secrets: equal only where everything is the same,
 * sealed passwords too. A sealed secret is bound to its machine, so machines cannot be compared by it.
 *
 * @param words what is asked, without secrets
 */
export function askedDigest(words: string, secrets: readonly (Json | undefined)[]): string {
  const told = secrets.map((secret) => (isSealed(secret) ? secret.secret : (secret ?? null)));
  const text = JSON.stringify([words, ...told]);
  return createHash("sha256").update(text, "utf8").digest("hex").slice(0, 16);
}
