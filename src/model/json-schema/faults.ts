import type { ErrorObject, ValidateFunction } from "ajv/dist/2020.js";
import { MigrationError } from "../../lib/error.ts";
import { isSecretName } from "../secret.ts";

/** Maximum number of reported faults per document. Further faults are counted. */
const AT_ONCE = 50;

/**
 * Checks a document against its schema.
 * @param name file of the document, for messages
 * @param where position of a path in the file
 * @throws MigrationError N2I-E103 with path and fault of up to fifty faults
 */
export function checkDocument(
  validate: ValidateFunction,
  document: unknown,
  name: string,
  where: Where = () => "",
): void {
  refuse([listedFaults(name, placed(schemaFaults(validate, document), where))]);
}

/** @throws MigrationError N2I-E103 with a line for each document with faults */
export function refuse(documents: readonly string[]): void {
  const lines = documents.filter((line) => line !== "");
  if (lines.length > 0) throw new MigrationError("N2I-E103", lines.join("\n"));
}

export function listedFaults(name: string, faults: readonly string[]): string {
  const more = faults.length > AT_ONCE ? [`and ${faults.length - AT_ONCE} more`] : [];
  return faults.length === 0 ? "" : `${name}: ${[...faults.slice(0, AT_ONCE), ...more].join("; ")}`;
}

/** Position of a path in its file, `line 4, column 9: `, else empty. */
type Where = (path: string) => string;

/** Adds the position to each fault, which starts with a path. */
export function placed(faults: readonly string[], where: Where): readonly string[] {
  return faults.map((fault) => fault.replace(/^\/\S*/, (path) => `${where(path)}${path}`));
}

export function schemaFaults(validate: ValidateFunction, document: unknown): readonly string[] {
  if (validate(document)) return [];
  const faults = (validate.errors ?? [])
    // Omit faults inside a failed choice and of key forms, because their parents explain more.
    .filter(({ keyword }) => keyword !== "if" && keyword !== "propertyNames")
    .map((error) => `${pathOf(error) || "/"} ${faultText(error)}`);
  return [...new Set(faults)];
}

/** JSON types in the words of YAML. */
const TYPES: { readonly [type: string]: string } = {
  object: "a mapping of keys",
  array: "a list",
  string: "text",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  null: "null",
};

/** Fault without the value, which may be a secret. */
function faultText({ keyword, params, message }: ErrorObject): string {
  switch (keyword) {
    case "required":
      return `lacks ${params.missingProperty}`;
    case "additionalProperties":
      return isUnnamed(params.additionalProperty) ? "has an unknown field" : "is not a known field";
    case "type":
      return `must be ${[params.type]
        .flat()
        .map((type) => TYPES[type] ?? type)
        .join(" or ")}`;
    case "enum":
      return `must be one of ${params.allowedValues.map(String).join(", ")}`;
    case "const":
      return `must be ${params.allowedValue}`;
    case "pattern":
      return `does not have the form ${params.pattern}`;
    case "anyOf":
    case "oneOf":
      return "has none of the allowed forms";
    case "minLength":
    case "minItems":
    case "minProperties":
      return params.limit === 1 ? "is empty" : (message ?? "is too short");
    default:
      return message ?? "is invalid";
  }
}

/** Path to the invalid key, unless its name may be a secret. */
function pathOf({ instancePath, params, propertyName }: ErrorObject): string {
  const key: unknown = params.additionalProperty ?? propertyName;
  if (typeof key !== "string" || isUnnamed(key)) return instancePath;
  return `${instancePath}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

function isUnnamed(key: unknown): boolean {
  return typeof key === "string" && isSecretName(key);
}
