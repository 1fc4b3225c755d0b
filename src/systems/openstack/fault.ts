import { isObject, parsedJson } from "../../lib/json.ts";
import type { Answered } from "./http.ts";

const LONGEST = 300;

/**
 * Ironic nests JSON and differs by release. Nova wraps the text in the kind of fault.
 *
 * @param secrets texts to remove
 * @source facts/ironic.md 4.4
 */
export function faultOf(text: string, secrets: readonly string[] = []): string {
  // Secrets are removed first, because one may look like a tag.
  const message =
    sentence(parsedJson(text)) ?? withoutSecrets(text, secrets).replaceAll(/<[^>]*>/g, " ");
  return withoutSecrets(message, secrets).replaceAll(/\s+/g, " ").trim().slice(0, LONGEST);
}

/** The error text, or a redirection's Location without login and query. */
export function faultIn(answer: Answered, secrets: readonly string[]): string {
  const { status, headers, text } = answer;
  const to = status >= 300 && status < 400 ? headers.location : undefined;
  if (to === undefined) return faultOf(text, secrets);
  const plain = to.replace(/[?#].*$/, "").replace(/\/\/[^/]*@/, "//");
  return `redirects to ${withoutSecrets(plain, secrets)}`.slice(0, LONGEST);
}

/**
 * Also replaces JSON's escapes of secrets. Very short ones stay, because other words contain them.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length > 2)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)])
    .reduce((clean, secret) => clean.replaceAll(secret, "****"), text);
}

function sentence(body: unknown): string | null {
  if (typeof body === "string") return sentence(parsedJson(body)) ?? body;
  if (!isObject(body)) return null;
  for (const inner of [body.error_message, body.error, body.errors]) {
    const first: unknown = Array.isArray(inner) ? inner[0] : inner;
    const found = first === undefined ? null : sentence(first);
    if (found !== null) return found;
  }
  const candidates = [body.faultstring, body.message, body.detail, body.description, body.title];
  const found = candidates.find((text): text is string => typeof text === "string" && text !== "");
  if (found !== undefined) return found;
  // Nova's format: {"badRequest": {"message": .., "code": 400}}.
  const [only, ...rest] = Object.values(body);
  return rest.length === 0 && isObject(only) ? sentence(only) : null;
}
