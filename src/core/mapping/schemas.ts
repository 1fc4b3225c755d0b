import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { MigrationError } from "../../model/error.ts";
import { isSecretName } from "../../model/secret.ts";

/** Faults told at once; of a document with thousands the others are counted. */
const TOLD = 50;

/** Compiles the project's JSON Schemas once; each document kind has one. */
export function createAjv(): Ajv2020 {
  return new Ajv2020({
    strict: true,
    strictRequired: false,
    allErrors: true,
    allowUnionTypes: true,
  });
}

/**
 * Checks a document against its schema, all faults at once.
 *
 * @param name file the document came from
 * @throws MigrationError N2I-E103 with every fault, up to fifty: path and what is wrong
 */
export function checkDocument(validate: ValidateFunction, document: unknown, name: string): void {
  if (validate(document)) return;
  const faults = (validate.errors ?? [])
    // The branches of a failed choice say less than the choice itself.
    .filter(({ keyword }) => keyword !== "if")
    .map(({ instancePath, message, params }) => {
      const extra = [params.additionalProperty, params.propertyName].find(
        (value) => typeof value === "string",
      );
      const told = extra === undefined || isSecretName(extra) ? "" : ` (${extra})`;
      return `${instancePath === "" ? "/" : instancePath} ${message ?? "is wrong"}${told}`;
    });
  const told = [...new Set(faults)];
  const more = told.length > TOLD ? [`and ${told.length - TOLD} more`] : [];
  throw new MigrationError("N2I-E103", `${name}: ${[...told.slice(0, TOLD), ...more].join("; ")}`);
}
