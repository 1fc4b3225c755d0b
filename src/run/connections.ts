import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import type { AnySchemaObject } from "ajv/dist/2020.js";
import { MigrationError } from "../lib/error.ts";
import { checkDocument } from "../model/json-schema/faults.ts";
import { createAjv } from "../model/json-schema/schemas.ts";
import { packageRoot } from "./files/package-root.ts";
import { parseDocument, placesIn, readDocument } from "./files/yaml-file.ts";
import { withoutSecret } from "./next.ts";
import { absolute } from "./paths.ts";
import type { Connection } from "./process-context.ts";

/** As mappings/schema/connections.schema.json has it. */
type Written = {
  readonly [key: string]: Connection | { readonly [host: string]: string };
};

/** What says of the document what it is. */
const ABOUT: ReadonlySet<string> = new Set(["$schema", "format"]);

/**
 * Where the databases, services and files of a migration are, by the options that say the same:
 * `nova_bm_db` is `nova-bm-db`; and decisions. Paths are in the document's folder.
 *
 * @param file absolute
 * @throws MigrationError N2I-E101 naming the key, never the address; N2I-E108 with every fault
 */
export function readConnections(file: string): ReadonlyMap<string, Connection> {
  try {
    return connectionsIn(file);
  } catch (cause) {
    // The same faults as a site document has, with another advice.
    throw cause instanceof MigrationError && cause.code === "N2I-E103"
      ? new MigrationError("N2I-E108", cause.message, { cause })
      : cause;
  }
}

function connectionsIn(path: string): ReadonlyMap<string, Connection> {
  // A link's paths are those of what it links.
  const file = existsSync(path) ? realpathSync(path) : path;
  const text = readDocument(file, { trusted: true });
  const document = parseDocument(text, file) ?? {};
  const schema = join(packageRoot(), "mappings", "schema", "connections.schema.json");
  // A schema of this package; its tests check that it is one.
  const form = JSON.parse(readFileSync(schema, "utf8")) as AnySchemaObject;
  checkDocument(createAjv().compile(form), document, file, placesIn(text));
  // The schema has just been checked.
  const { decisions, ...places } = document as { readonly decisions?: Written };
  const all: Written = { ...places, ...decisions };
  const written = Object.entries(all).filter(([key]) => !ABOUT.has(key));
  return new Map(
    written.map(([key, value]) => {
      const option = key.replaceAll("_", "-");
      return [option, wordsFrom(dirname(file), option, value, `${file}: ${key}`)];
    }),
  );
}

function wordsFrom(
  folder: string,
  option: string,
  value: Written[string],
  name: string,
): Connection {
  if (typeof value === "number" || typeof value === "boolean") return value;
  const word = (said: string): string => {
    if (withoutSecret(said) !== said)
      throw new MigrationError("N2I-E101", `${name}: the address holds a password`);
    return absolute(option, said, folder);
  };
  if (typeof value === "string") return word(value);
  // A host each, as `--nova-conf HOST=FILE` has it.
  const words = Array.isArray(value)
    ? (value as readonly string[])
    : Object.entries(value).map(([host, path]) => (host === "*" ? path : `${host}=${path}`));
  return words.map(word);
}
