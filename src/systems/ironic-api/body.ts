import { MigrationError } from "../../lib/error.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json.ts";
import type { Row } from "../../model/machine.ts";
import type { Resource } from "../../model/plan.ts";
import { withoutSecrets } from "../openstack/fault.ts";
import type { rowsOf } from "./row.ts";
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

export interface IronicRow {
  readonly row: Row;
  /** Attachments that this tool does not write: `an allocation`. */
  readonly foreign: readonly string[];
}

export async function readReported(
  { service, rows }: Link,
  resource: Resource,
  uuid: string,
): Promise<IronicRow | null> {
  const body = await bodyOf(service, `/v1/${resource}s/${uuid}`, uuid);
  return body === null ? null : readRowOf(rows, resource, body);
}

/** A response about another object must not look like a change. */
export async function bodyOf(
  service: RestService,
  path: string,
  uuid: string,
): Promise<JsonObject | null> {
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

export function readRowOf(rows: Link["rows"], resource: Resource, body: unknown): IronicRow {
  const { allocation_uuid } = isObject(body) ? body : {};
  const foreign = typeof allocation_uuid === "string" ? ["an allocation"] : [];
  return { row: rows.reported(resource, body), foreign };
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
  const list = isObject(body) ? body[name] : [];
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
