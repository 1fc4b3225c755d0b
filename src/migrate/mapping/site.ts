import type { ValidateFunction } from "ajv/dist/2020.js";
import { MigrationError } from "../../lib/error.ts";
import { FINDINGS } from "../../model/findings.ts";
import { checkDocument, placed } from "../../model/json-schema/faults.ts";
import type { Rule, Site, SiteEntry } from "../../model/mapping.ts";
import { isSecretName } from "../../model/secret.ts";
import { findingFaults } from "./cross-check.ts";

export const NO_SITE: Site = { machines: [], rules: { node: [], port: [] }, drops: {} };

/** The document as written, with optional parts. See mappings/schema/site.schema.json. */
interface Written {
  readonly drop?: Site["drops"];
  readonly rules?: { readonly node?: readonly Rule[]; readonly port?: readonly Rule[] };
  readonly machines?: readonly SiteEntry[];
}

const NO_SECRET = "is a secret, which a site document must not contain";

function secretKeys(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    isSecretName(key) ? [key] : secretKeys(inner).map((below) => `${key}/${below}`),
  );
}

/** A rule may copy a sealed secret, but may not contain one. */
function secretFaults(rules: readonly Rule[], path: string): readonly string[] {
  return rules.flatMap(({ to, value }, at) =>
    value !== undefined && (to.split(".").some(isSecretName) || secretKeys(value).length > 0)
      ? [`${path}/${at}/value ${NO_SECRET}`]
      : [],
  );
}

/** Checks that a schema cannot express. All faults are collected. */
function faultsOf(entry: SiteEntry, at: number): readonly string[] {
  const path = `/machines/${at}`;
  const { match, set = {}, accept = [] } = entry;
  const { uuid } = match;
  const isOne = uuid !== undefined && typeof uuid !== "object" && !String(uuid).includes("*");
  const secrets = (["driver_info", "properties"] as const).flatMap((column) =>
    secretKeys(set[column] ?? {}).map((key) => `${path}/set/${column}/${key}`),
  );
  return [
    ...(set.name !== undefined && !isOne
      ? [`${path}/set/name is for one machine: match its whole uuid`]
      : []),
    ...secrets.map((at) => `${at} ${NO_SECRET}`),
    ...accept.flatMap(({ finding }, index) => {
      const kind = Object.hasOwn(FINDINGS, finding) ? FINDINGS[finding] : undefined;
      if (kind === undefined) return [`${path}/accept/${index}/finding ${finding} does not exist`];
      return kind.severity === "blocks" && kind.acceptable !== true
        ? [`${path}/accept/${index}/finding ${finding} cannot be accepted: ${kind.title}`]
        : [];
    }),
  ];
}

/** Validates the site document. @throws MigrationError N2I-E103 with every fault and its path */
export function parseSite(
  validate: ValidateFunction,
  document: unknown,
  name: string,
  where: (path: string) => string = () => "",
): Site {
  checkDocument(validate, document, name, where);
  // The schema was checked above.
  const { drop = {}, rules = {}, machines = [] } = document as Written;
  const { node = [], port = [] } = rules;
  const faults = [
    ...[secretFaults, findingFaults].flatMap((faultsIn) => [
      ...faultsIn(node, "/rules/node"),
      ...faultsIn(port, "/rules/port"),
    ]),
    ...machines.flatMap(faultsOf),
  ];
  if (faults.length > 0)
    throw new MigrationError("N2I-E103", `${name}: ${placed(faults, where).join("; ")}`);
  return {
    file: name,
    machines: machines.map((entry) => ({
      ...entry,
      match: Object.fromEntries(
        Object.entries(entry.match).map(([column, value]) => [
          column,
          typeof value === "object" ? value.map(String) : String(value),
        ]),
      ),
    })),
    rules: { node, port },
    drops: drop,
  };
}
