import type { Json } from "../../model/json.ts";

/**
 * A value as cliff's table, csv and value forms write it: None, True and False are Python's words,
 * which scripts around OpenStack expect. Lists and objects are JSON, as Python's form is no format.
 */
export function cellText(value: Json): string {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  return typeof value === "object" ? pythonJson(value) : String(value);
}

/** JSON on one line with the blanks and the ASCII escapes of Python's `json.dumps`. */
export function pythonJson(value: Json): string {
  if (isList(value)) return `[${value.map(pythonJson).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(
      ([name, member]) => `${asciiJson(name)}: ${pythonJson(member)}`,
    );
    return `{${members.join(", ")}}`;
  }
  return asciiJson(value);
}

/** `JSON.stringify` in ASCII only, so that no terminal and no locale can spoil it. */
export function asciiJson(value: Json, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(
    /[\x7f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
