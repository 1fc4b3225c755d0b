import { isObject, type Json } from "../../model/json.ts";
import { blocks, finding } from "../../model/judge.ts";
import type { Transformed } from "../transform/transform.ts";

/** What a plain text column of the charset cannot hold; JSON columns are written in ASCII. */
const BEYOND: { readonly [charset: string]: RegExp } = {
  utf8mb3: /[\ud800-\udfff]/,
  latin1: /[\u0100-\uffff]/,
};

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
