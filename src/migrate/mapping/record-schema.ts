import type { Ajv2020, ErrorObject, ValidateFunction } from "ajv/dist/2020.js";
import type { Json, JsonObject } from "../../lib/json.ts";
import type { Release } from "../../model/ironic/target.ts";
import type { Row } from "../../model/machine.ts";
import type { Column } from "../../model/mapping.ts";
import type { Resource } from "../../model/plan.ts";

const OBJECTS = /^(properties|driver_info|extra|instance_info|driver_internal_info|internal_info)$/;

/** MySQL's TEXT has at most 65,535 bytes. JSON in it is ASCII. @source facts/ironic.md 1.2 */
const TEXT_BYTES = 65_535;

const PORT = {
  type: ["integer", "string"],
  minimum: 1,
  maximum: 65_535,
  pattern: "^0*([1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d\\d|655[0-2]\\d|6553[0-5])$",
};
const INTEGER = { type: ["integer", "string"], pattern: "^-?\\d+$" };

/**
 * Values that Ironic or Nova would refuse later, from a site document, rules or nova.conf.
 * @source ironic 21.4:ironic/drivers/modules/ipmitool.py _parse_driver_info; facts/ironic.md 3.3
 */
const VALUES: { readonly [column: string]: Schema } = {
  driver_info: {
    properties: {
      ipmi_priv_level: { enum: ["ADMINISTRATOR", "CALLBACK", "OPERATOR", "USER"] },
      ipmi_bridging: { enum: ["dual", "no", "single"] },
      ipmi_protocol_version: { enum: ["1.5", "2.0", 1.5] },
      ipmi_cipher_suite: INTEGER,
      iboot_relay_id: INTEGER,
    },
    patternProperties: {
      "^(ipmi|ipmi_terminal|ssh|iboot|irmc|drac|xclarity|snmp|client|console)_port$": PORT,
    },
  },
  properties: { properties: { cpus: INTEGER, memory_mb: INTEGER, local_gb: INTEGER } },
};

type Schema = { readonly [keyword: string]: Json };

function typeOf({ name, type, length = 255 }: Column): Schema {
  if (OBJECTS.test(name)) return { type: "object", ...VALUES[name] };
  return type === "string" ? { type, maxLength: length } : TYPES[type];
}

const TYPES: { readonly [type in Exclude<Column["type"], "string">]: Schema } = {
  integer: { type: "integer" },
  bigint: { type: "integer" },
  float: { type: "number" },
  boolean: { type: "boolean" },
  datetime: { type: "string", pattern: "^\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d$" },
  text: { type: "string", maxLength: TEXT_BYTES },
  mediumtext: { type: "string" },
  longtext: { type: "string" },
};

/**
 * Trait names that Ironic accepts: custom ones, and the form and namespaces of os-traits. The site
 * schema has the same.
 * @source ironic 21.4, api/controllers/v1/utils.py, TRAITS_SCHEMA; os-traits 2.9
 */
export const TRAIT = "^(CUSTOM_[A-Z0-9_]+|(COMPUTE|HW|MISC|OWNER|STORAGE)(_[A-Z0-9]+)+)$";
/** Traits of a node are in a separate table. */
const TRAITS = {
  type: ["array", "null"],
  uniqueItems: true,
  items: { type: "string", maxLength: 255, pattern: TRAIT },
};

function schemaOf(columns: readonly Column[], required: readonly string[]) {
  const properties = columns.map((column) => {
    const { type, ...rest } = typeOf(column);
    return [column.name, { type: column.null ? [type, "null"] : type, ...rest }];
  });
  return {
    type: "object",
    required,
    additionalProperties: false,
    properties: { ...Object.fromEntries(properties), node_uuid: { type: "string" } },
  };
}

function faultText({ keyword, message, params }: ErrorObject): string {
  if (keyword === "enum")
    return `is not one of ${[...new Set(params.allowedValues.map(String))].join(", ")}`;
  if (params.pattern === PORT.pattern) return "is not a port from 1 to 65535";
  if (params.pattern === INTEGER.pattern) return "is not a whole number";
  return message ?? "is wrong";
}

function faults(validate: ValidateFunction, texts: readonly string[], row: Row): readonly string[] {
  const faults = validate(row)
    ? []
    : (validate.errors ?? []).map(
        (error) => `${error.instancePath.slice(1) || "record"} ${faultText(error)}`,
      );
  const long = texts.filter((name) => {
    const value = row[name];
    // The upper bound usually decides without the exact size.
    if (typeof value !== "object" || value === null) return false;
    return bound(value) > TEXT_BYTES && size(value) > TEXT_BYTES;
  });
  return [...faults, ...long.map((name) => `${name} is longer than ${TEXT_BYTES} bytes`)];
}

/** An upper bound of a value's JSON in bytes: six per character of a text, 24 for a number. */
function bound(value: Json): number {
  if (typeof value === "string") return 6 * value.length + 3;
  if (typeof value !== "object" || value === null) return 25;
  // The names of a list are its indexes.
  const fields = value as JsonObject;
  let most = 3;
  for (const name in fields) most += 6 * name.length + 4 + bound(fields[name] ?? null);
  return most;
}

/** The longest possible JSON text, with every non-ASCII character escaped. */
function size(value: Json): number {
  const json = JSON.stringify(value);
  return json.length > TEXT_BYTES / 6
    ? json.replaceAll(/[\u007f-\uffff]/g, "\\u0000").length
    : json.length;
}

export function recordValidator(
  ajv: Ajv2020,
  { node, port }: Release,
): (resource: Resource, row: Row) => readonly string[] {
  const { properties, ...rest } = schemaOf(node, ["uuid", "driver", "maintenance", "extra"]);
  const nodes = ajv.compile({ ...rest, properties: { ...properties, traits: TRAITS } });
  const ports = ajv.compile(schemaOf(port, ["uuid", "address", "node_uuid", "extra"]));
  const textsOf = (columns: readonly Column[]) =>
    columns.filter(({ type }) => type === "text").map(({ name }) => name);
  const [ofNode, ofPort] = [textsOf(node), textsOf(port)];
  return (resource, row) =>
    resource === "node" ? faults(nodes, ofNode, row) : faults(ports, ofPort, row);
}
