import { isObject, type Json } from "../../lib/json.ts";
import { isSecretName } from "../secret.ts";

/** Ironic's placeholder for a secret. */
export const MASKED = "******";

const LOGIN = /(\w:\/\/)[^\s/?#]*@/g;
const PARAMETER = /([?&;]([\w.-]+)=)[^&;#\s"]+/g;
/** The signature of a signed URL is a credential: Swift, S3, Azure. */
const SIGNED = /(^|[_.-])sig(nature)?$/i;

/** Masks credentials at any depth of a value. @param name field name of the value */
export function masked(value: Json, name = ""): Json {
  if (isSecretName(name) && value !== null && typeof value !== "boolean") return MASKED;
  if (typeof value === "string") return maskedText(value);
  if (Array.isArray(value)) return value.map((one: Json) => masked(one));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, masked(one, key)]));
}

/** Masks login and signature of a URL. Other texts are unchanged. */
export function maskedText(text: string): string {
  return text
    .replace(LOGIN, `$1${MASKED}@`)
    .replace(PARAMETER, (match: string, before: string, name: string) =>
      SIGNED.test(name) || isSecretName(name) ? before + MASKED : match,
    );
}
