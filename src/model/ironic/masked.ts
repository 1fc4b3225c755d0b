import { isObject, type Json } from "../../lib/json.ts";
import { isSecretName } from "../secret.ts";

/** What stands in place of a secret, as Ironic has it. */
export const MASKED = "******";

const LOGIN = /(\w:\/\/)[^\s/?#]*@/g;
const PARAMETER = /([?&;]([\w.-]+)=)[^&;#\s"]+/g;
/** A signed address is its own password, whoever signs it: Swift, S3, Azure. */
const SIGNED = /(^|[_.-])sig(nature)?$/i;

/**
 * A value without what logs in somewhere, or fetches something in secret, however deep it stands.
 *
 * @param name what it is called
 */
export function masked(value: Json, name = ""): Json {
  if (isSecretName(name) && value !== null && typeof value !== "boolean") return MASKED;
  if (typeof value === "string") return maskedText(value);
  if (Array.isArray(value)) return value.map((one: Json) => masked(one));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, masked(one, key)]));
}

/** An address without its login and signature; any other text as it is. */
export function maskedText(text: string): string {
  return text
    .replace(LOGIN, `$1${MASKED}@`)
    .replace(PARAMETER, (whole: string, before: string, name: string) =>
      SIGNED.test(name) || isSecretName(name) ? before + MASKED : whole,
    );
}
