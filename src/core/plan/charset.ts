import { BEYOND } from "../../model/charset.ts";
import { finding } from "../../model/finding.ts";
import { type Transformed, withFindings } from "../transform/transform.ts";

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
        .filter(([, value]) => typeof value === "string" && beyond.test(value))
        .map(([column]) => finding("N2I-D405", `${id} ${column}`, `this database is ${charset}`)),
    );
    return withFindings(machine, found);
  };
}
