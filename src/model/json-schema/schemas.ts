import { Ajv2020 } from "ajv/dist/2020.js";

/**
 * Compiles the project's JSON Schemas once; each document kind has one.
 *
 * @param doubt check the schemas themselves: they are part of this package, so tests do it, and
 *   no command pays for it
 * @param often what is compiled is run so often, for each row of a fleet, that small code pays; to
 *   make it small takes longer than to check a few documents
 */
export function createAjv({ doubt = false, often = false } = {}): Ajv2020 {
  return new Ajv2020({
    validateSchema: doubt,
    strict: true,
    strictRequired: false,
    allErrors: true,
    allowUnionTypes: true,
    code: { optimize: often },
  });
}
