import type { ValidateFunction } from "ajv/dist/2020.js";
import { MigrationError } from "../../model/error.ts";
import { isSecretName } from "../../model/secret.ts";

/** Faults told at once; of a document with thousands the others are counted. */
const TOLD = 50;

/**
 * Checks a document against its schema, all faults at once.
 *
 * @param name file the document came from
 * @throws MigrationError N2I-E103 with every fault, up to fifty: path and what is wrong
 */
export function checkDocument(validate: ValidateFunction, document: unknown, name: string): void {
  refuse([told(name, schemaFaults(validate, document))]);
}

/** @throws MigrationError N2I-E103 with a line for each document that has faults */
export function refuse(documents: readonly string[]): void {
  const lines = documents.filter((line) => line !== "");
  if (lines.length > 0) throw new MigrationError("N2I-E103", lines.join("\n"));
}

/** A document's faults on one line, the first fifty; empty text when it has none. */
export function told(name: string, faults: readonly string[]): string {
  const more = faults.length > TOLD ? [`and ${faults.length - TOLD} more`] : [];
  return faults.length === 0 ? "" : `${name}: ${[...faults.slice(0, TOLD), ...more].join("; ")}`;
}

/** What of a document its schema does not allow: path and what is wrong. */
export function schemaFaults(validate: ValidateFunction, document: unknown): readonly string[] {
  if (validate(document)) return [];
  const faults = (validate.errors ?? [])
    // The branches of a failed choice say less than the choice itself.
    .filter(({ keyword }) => keyword !== "if")
    .map(({ instancePath, keyword, message, params }) => {
      const extra = [params.additionalProperty, params.propertyName].find(
        (value) => typeof value === "string",
      );
      const told = extra === undefined || isSecretName(extra) ? "" : ` (${extra})`;
      const empty = keyword === "minLength" && params.limit === 1;
      const words = empty ? "is empty: fill it in" : (message ?? "is wrong");
      return `${instancePath === "" ? "/" : instancePath} ${words}${told}`;
    });
  return [...new Set(faults)];
}
