import { MigrationError } from "../../lib/error.ts";
import { isObject, type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import type { SameSecret } from "../../model/compare.ts";
import { carriedFields, createdRow, type RestDoc } from "../../model/ironic/rest.ts";
import type { Row } from "../../model/machine.ts";
import type { Resource } from "../../model/plan.ts";
import { isSealed, type Seal, type Sealed, sealed, unsealed } from "../../model/secret.ts";
import { withoutSecrets } from "../openstack/http.ts";
import type { RestService } from "./service.ts";

export interface Link {
  readonly service: RestService;
  readonly rows: ReturnType<typeof rowsOf>;
}

/** A link for one machine that removes its secrets from messages. */
export function hiding({ service, rows }: Link, row: Row | null) {
  const secrets = row === null ? [] : rows.secrets(row);
  const link: Link = { service: service.hiding(secrets), rows };
  return { link, hide: (text: string): string => withoutSecrets(text, secrets) };
}

export type IronicRow = NonNullable<Awaited<ReturnType<typeof readReported>>>;

export async function readReported({ service, rows }: Link, resource: Resource, uuid: string) {
  const body = await bodyOf(service, `/v1/${resource}s/${uuid}`, uuid);
  if (body === null) return null;
  return {
    row: rows.reported(resource, body),
    /** Which this tool does not write. */
    hasAllocation: typeof body.allocation_uuid === "string",
  };
}

/** A response about another object must not look like a change. */
export async function bodyOf(service: RestService, path: string, uuid: string) {
  const body = await service.ask(path);
  if (body === null || isAbout(body, uuid)) return body;
  throw notThat(service, path);
}

export function notThat({ session }: RestService, path: string): MigrationError {
  return new MigrationError("N2I-E212", `${session.url} returned unexpected data for GET ${path}`);
}

export function isAbout(body: unknown, uuid: string): body is JsonObject {
  return isObject(body) && String(body.uuid).toLowerCase() === uuid.toLowerCase();
}

export async function readPorts({ service, rows }: Link, node: string): Promise<readonly Row[]> {
  return listed(await service.ask(`/v1/ports/detail?node_uuid=${node}&limit=1000`), "ports").map(
    (body) => rows.reported("port", body),
  );
}

export function lowerCaseText(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

export function listed(body: unknown, name: string): readonly Json[] {
  const list = objectOf(body)[name];
  return Array.isArray(list) ? list : [];
}

/** Objects per page. @source ironic: [api]max_limit */
const PAGE = 1000;

/**
 * Requests the first page at once, and the next one while the caller processes the previous one.
 * Follows a smaller max_limit.
 *
 * @throws MigrationError N2I-E210 to N2I-E212 unless the list is complete
 */
export function pages(
  service: RestService,
  collection: string,
  query = "",
  size = PAGE,
): AsyncGenerator<readonly Json[]> {
  const name = collection
    .split("/")
    .find((part) => /^(nodes|ports|portgroups|connectors|targets|conductors)$/.test(part));
  const fetchPage = (marker: string): Promise<unknown> => {
    const page = pageOf(service, collection, `limit=${size}${query}${marker}`);
    // A caller that stops must get no error of the requested page.
    page.catch(() => undefined);
    return page;
  };
  const first = fetchPage("");
  async function* followed(): AsyncGenerator<readonly Json[]> {
    for (let next: Promise<unknown> | null = first; next !== null; ) {
      const body: unknown = await next;
      const page = listed(body, name ?? collection);
      const last = page.at(-1);
      const hasNext = isObject(body) && body.next !== undefined && isObject(last);
      next = hasNext ? fetchPage(`&marker=${String(last.uuid)}`) : null;
      if (page.length > 0) yield page;
    }
  }
  return followed();
}

async function pageOf(service: RestService, collection: string, query: string): Promise<unknown> {
  const body = await service.ask(`/v1/${collection}?${query}`);
  if (body !== null) return body;
  const text = `${service.session.url} returned 404 for /v1/${collection}`;
  if (query.includes("&marker="))
    throw new MigrationError(
      "N2I-E212",
      `${text}: the last object of the previous page was deleted, so the list is incomplete`,
      { fix: "Run the same command again." },
    );
  const node = query.includes("&node=") ? ", or the node was deleted" : "";
  throw new MigrationError(
    "N2I-E212",
    `${text} with microversion ${service.identity.version}: the API does not have this resource${node}`,
    { fix: "Check the URL of Ironic and any proxy in between, then run the same command again." },
  );
}

/** Ironic's replacement for a secret. @source facts/ironic.md 0.12 */
const MASK = "******";
/** Stands for a masked secret, which equals every other. */
const MASKED: Sealed = { secret: "", of: "" };

export function rowsOf(doc: RestDoc, minor: number, seal: Seal) {
  const fields = {
    node: carriedFields(doc, "node", minor),
    port: carriedFields(doc, "port", minor),
  };
  return {
    /** The fields of the pinned version, secrets sealed. */
    reported(resource: Resource, body: unknown): Row {
      const attributes = objectOf(body);
      const owner = String(resource === "node" ? attributes.uuid : attributes.node_uuid);
      const row: Record<string, Json> = {};
      for (const field of fields[resource])
        if (attributes[field] !== undefined)
          row[field] = sealed(attributes[field], seal, owner, (value) =>
            value === MASK ? MASKED : null,
          );
      const { traits } = row;
      // The service does not order traits.
      if (Array.isArray(traits)) row.traits = traits.map(String).toSorted();
      return row;
    },
    reports: (resource: Resource, field: string) => fields[resource].has(field),
    body: (resource: Resource, row: Row): Row =>
      Object.fromEntries(
        Object.entries(createdRow(doc, resource, row, minor)).map(([field, value]) => [
          field,
          unsealed(value, seal),
        ]),
      ),
    /** Open secrets, to remove them from messages. */
    secrets: (row: Row) => Object.values(row).flatMap((value) => secretsIn(value, seal)),
    same: sameOver(seal),
  };
}

/** A masked secret cannot be compared. */
export function sameOver(seal: Seal): SameSecret {
  return (left, right) =>
    isMasked(left) ||
    isMasked(right) ||
    left.secret === right.secret ||
    seal.open(left) === seal.open(right);
}

function isMasked({ secret }: Sealed): boolean {
  return secret === "";
}

export function maskedIn(value: Json): number {
  if (!isObject(value)) return 0;
  if (isSealed(value)) return isMasked(value) ? 1 : 0;
  return Object.values(value).reduce<number>((sum, inner) => sum + maskedIn(inner), 0);
}

function secretsIn(value: Json, seal: Seal): readonly string[] {
  if (!isObject(value)) return [];
  if (isSealed(value)) return isMasked(value) ? [] : [seal.open(value)];
  return Object.values(value).flatMap((inner) => secretsIn(inner, seal));
}
