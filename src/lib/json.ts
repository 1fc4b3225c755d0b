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

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

export function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** Null for invalid JSON. */
export function parsedJson(text: string): Json {
  try {
    return JSON.parse(text) as Json; // JSON.parse returns nothing else
  } catch {
    return null;
  }
}
