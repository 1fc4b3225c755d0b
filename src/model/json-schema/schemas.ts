import { Ajv2020 } from "ajv/dist/2020.js";

/**
 * Compiles JSON Schemas. Each kind of document has one.
 *
 * @param doubt also validate the schemas. Only tests do, because the schemas are part of the
 *   package.
 * @param often generate optimised code for checks of every row. It compiles slower, so it does not
 *   pay for a few documents.
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
