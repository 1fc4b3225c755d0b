import { BEYOND } from "../../model/charset.ts";
import { blocks, finding } from "../../model/finding.ts";
import { isObject, type Json } from "../../model/json.ts";
import type { Transformed } from "../transform/transform.ts";

function holds(value: Json | undefined, beyond: RegExp): boolean {
  return typeof value === "string" && beyond.test(value);
}

/**
 * Finds what a utf8mb3 or Latin-1 database would refuse in the middle of the load.
 *
 * @source facts/ironic.md 1.2
 */
export function inspectCharset(charset: string): (machine: Transformed) => Transformed {
  const beyond = BEYOND[charset];
  if (beyond === undefined) return (machine) => machine;
  return (machine) => {
    const found = machine.desired.flatMap(({ id, row }) =>
      Object.entries(row)
        .filter(([, value]) => !isObject(value) && holds(value, beyond))
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
