import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import type { AnySchemaObject } from "ajv/dist/2020.js";
import { MigrationError } from "../lib/error.ts";
import { checkDocument } from "../model/json-schema/faults.ts";
import { createAjv } from "../model/json-schema/schemas.ts";
import { packageRoot } from "./files/package-root.ts";
import { locator, parseDocument, readDocument } from "./files/yaml-file.ts";
import { absolute, withoutSecret } from "./next.ts";
import type { Connection } from "./process-context.ts";

/** As in mappings/schema/connections.schema.json. */
type Written = { readonly [key: string]: Connection | { readonly [host: string]: string } };

/** Keys that describe the document. */
const ABOUT: ReadonlySet<string> = new Set(["$schema", "format"]);

/**
 * Databases, services, files and decisions by option: `nova_bm_db` is `nova-bm-db`. Paths are
 * relative to the document.
 * @param path absolute
 * @throws MigrationError N2I-E101 with the key, never the address; N2I-E108 with every fault
 */
export function readConnections(path: string): ReadonlyMap<string, Connection> {
  // Paths are relative to the target of a link.
  const file = existsSync(path) ? realpathSync(path) : path;
  const { decisions, ...locations } = documentIn(file);
  const all: Written = { ...locations, ...decisions };
  const written = Object.entries(all).filter(([key]) => !ABOUT.has(key));
  return new Map(
    written.map(([key, value]) => {
      const option = key.replaceAll("_", "-");
      return [option, optionsFrom(dirname(file), option, value, `${file}: ${key}`)];
    }),
  );
}

function documentIn(file: string) {
  try {
    const text = readDocument(file, { trusted: true });
    const document = parseDocument(text, file) ?? {};
    const schema = join(packageRoot(), "mappings", "schema", "connections.schema.json");
    // Tests validate the schema.
    const form = JSON.parse(readFileSync(schema, "utf8")) as AnySchemaObject;
    checkDocument(createAjv().compile(form), document, file, locator(text));
    return document as { readonly decisions?: Written }; // the schema was checked
  } catch (cause) {
    // The same faults as in a site document, with another fix.
    throw cause instanceof MigrationError && cause.code === "N2I-E103"
      ? new MigrationError("N2I-E108", cause.message, { cause })
      : cause;
  }
}

function optionsFrom(
  folder: string,
  option: string,
  value: Written[string],
  name: string,
): Connection {
  if (typeof value === "number" || typeof value === "boolean") return value;
  const convert = (text: string): string => {
    if (withoutSecret(text) !== text)
      throw new MigrationError("N2I-E101", `${name}: the address contains a password`);
    return absolute(option, text, folder);
  };
  if (typeof value === "string") return convert(value);
  // One entry per host, as in `--nova-conf HOST=FILE`.
  const values = Array.isArray(value)
    ? (value as readonly string[])
    : Object.entries(value).map(([host, path]) => (host === "*" ? path : `${host}=${path}`));
  return values.map(convert);
}
