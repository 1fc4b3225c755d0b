import type { ErrorObject, ValidateFunction } from "ajv/dist/2020.js";
import { MigrationError } from "../../lib/error.ts";
import { isSecretName } from "../secret.ts";

/** Faults reported at once; of a document with thousands the others are counted. */
const AT_ONCE = 50;

/**
 * Checks a document against its schema, all faults at once.
 *
 * @param name file the document came from
 * @param where where its paths stand in it
 * @throws MigrationError N2I-E103 with every fault, up to fifty: path and what is wrong
 */
export function checkDocument(
  validate: ValidateFunction,
  document: unknown,
  name: string,
  where: Where = () => "",
): void {
  refuse([listedFaults(name, placed(schemaFaults(validate, document), where))]);
}

/** @throws MigrationError N2I-E103 with a line for each document that has faults */
export function refuse(documents: readonly string[]): void {
  const lines = documents.filter((line) => line !== "");
  if (lines.length > 0) throw new MigrationError("N2I-E103", lines.join("\n"));
}

/** A document's faults on one line, the first fifty; empty text when it has none. */
export function listedFaults(name: string, faults: readonly string[]): string {
  const more = faults.length > AT_ONCE ? [`and ${faults.length - AT_ONCE} more`] : [];
  return faults.length === 0 ? "" : `${name}: ${[...faults.slice(0, AT_ONCE), ...more].join("; ")}`;
}

/** Where in its file a path of a document stands, `line 4, column 9: `; nothing where nobody knows. */
export type Where = (path: string) => string;

/** Faults, which begin with a path, with where that is. */
export function placed(faults: readonly string[], where: Where): readonly string[] {
  return faults.map((fault) => fault.replace(/^\/\S*/, (path) => `${where(path)}${path}`));
}

/** What of a document its schema does not allow: path and what is wrong. */
export function schemaFaults(validate: ValidateFunction, document: unknown): readonly string[] {
  if (validate(document)) return [];
  const faults = (validate.errors ?? [])
    // The branches of a failed choice say less than the choice itself, a key's form more than that it is wrong.
    .filter(({ keyword }) => keyword !== "if" && keyword !== "propertyNames")
    .map((error) => `${pathOf(error) || "/"} ${wordsOf(error)}`);
  return [...new Set(faults)];
}

/** What a type of JSON is to who writes YAML. */
const TYPES: { readonly [type: string]: string } = {
  object: "a mapping of keys",
  array: "a list",
  string: "text",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  null: "null",
};

/** A fault in our words; never a value, which may be a secret. */
function wordsOf({ keyword, params, message }: ErrorObject): string {
  switch (keyword) {
    case "required":
      return `lacks ${params.missingProperty}`;
    case "additionalProperties":
      return isUnnamed(params.additionalProperty) ? "has a field too many" : "is no field here";
    case "type":
      return `must be ${[params.type].flat().map(typeWords).join(" or ")}`;
    case "enum":
      return `must be one of ${params.allowedValues.map(String).join(", ")}`;
    case "const":
      return `must be ${params.allowedValue}`;
    case "pattern":
      return `does not have the form ${params.pattern}`;
    case "anyOf":
    case "oneOf":
      return "has none of the forms it may have";
    case "minLength":
    case "minItems":
    case "minProperties":
      return params.limit === 1 ? "is empty: fill it in" : (message ?? "is too short");
    default:
      return message ?? "is wrong";
  }
}

function typeWords(type: unknown): string {
  return TYPES[String(type)] ?? String(type);
}

/** Down to the key that is wrong, unless its name may be a secret. */
function pathOf({ instancePath, params, propertyName }: ErrorObject): string {
  const key: unknown = params.additionalProperty ?? propertyName;
  if (typeof key !== "string" || isUnnamed(key)) return instancePath;
  return `${instancePath}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

function isUnnamed(key: unknown): boolean {
  return typeof key === "string" && isSecretName(key);
}
