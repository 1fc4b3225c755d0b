import { isObject, type Json } from "../../model/json.ts";
import { blocks, finding } from "../../model/judge.ts";
import type { Transformed } from "../transform/transform.ts";

/** Whether a plain text column holds a character of four bytes; JSON columns are written in ASCII. */
function wide(value: Json | undefined): boolean {
  return typeof value === "string" && /[\ud800-\udfff]/.test(value);
}

/**
 * Finds what a utf8mb3 database would refuse in the middle of the load.
 *
 * @source facts/ironic.md 1.2
 */
export function inspectCharset(charset: string): (machine: Transformed) => Transformed {
  if (charset !== "utf8mb3" && charset !== "latin1") return (machine) => machine;
  return (machine) => {
    const found = machine.desired.flatMap(({ id, row }) =>
      Object.entries(row)
        .filter(([, value]) => !isObject(value) && wide(value))
        .map(([column]) => finding("N2I-D405", `${id} ${column}`, `this database is ${charset}`)),
    );
    if (found.length === 0) return machine;
    return {
      ...machine,
      findings: [...machine.findings, ...found],
      blocked: machine.blocked || found.some(blocks),
      desired: [],
    };
  };
}
