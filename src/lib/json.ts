/** A value that JSON can hold. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An empty object in place of anything else. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** A text; null in place of anything else. */
export function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** What a text says in JSON; null when it is none. */
export function parsedJson(text: string): Json {
  try {
    return JSON.parse(text) as Json; // what JSON.parse gives is that
  } catch {
    return null;
  }
}
