import { Ajv2020 } from "ajv/dist/2020.js";

/**
 * Compiles JSON Schemas.
 * @param doubt also validate the schemas. Only tests do, because the schemas are part of the
 *   package.
 * @param often generate optimised code, which is slower to compile, for checks of every row
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
