import { MigrationError } from "../../lib/error.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json.ts";
import type { Current } from "../../model/ironic/target.ts";
import type { Row } from "../../model/machine.ts";
import type { Resource } from "../../model/plan.ts";
import { withoutSecrets } from "../openstack/fault.ts";
import type { rowsOf } from "./row.ts";
import type { RestService } from "./service.ts";

/** A service and how rows pass to it and from it. */
export interface Link {
  readonly service: RestService;
  readonly rows: ReturnType<typeof rowsOf>;
}

/** The way of one machine: neither what the service says of it nor what is said here quotes a secret of its row. */
export function hiding({ service, rows }: Link, row: Row | null) {
  const secrets = row === null ? [] : rows.secrets(row);
  const link: Link = { service: service.hiding(secrets), rows };
  return { link, hide: (text: string): string => withoutSecrets(text, secrets) };
}

/** A row, and what of it stands in no row. */
export interface SeenRow {
  readonly row: Row;
  /** What an operator hung on it that this tool does not write: `an allocation`. */
  readonly strange: readonly string[];
}

export async function lookAt(
  { service, rows }: Link,
  resource: Resource,
  uuid: string,
): Promise<SeenRow | null> {
  const body = await bodyOf(service, `/v1/${resource}s/${uuid}`, uuid);
  return body === null ? null : seenOf(rows, resource, body);
}

/** What is about something else would pass for what somebody changed: it is no answer. */
export async function bodyOf(
  service: RestService,
  path: string,
  uuid: string,
): Promise<JsonObject | null> {
  const body = await service.ask(path);
  if (body === null || tellsOf(body, uuid)) return body;
  throw notThat(service, path);
}

/** @param path of a GET that was answered with something else */
export function notThat({ session }: RestService, path: string): MigrationError {
  return new MigrationError("N2I-E212", `${session.url} answers GET ${path} with something else`);
}

/** Whether a body is about what it was asked for. */
export function tellsOf(body: unknown, uuid: string): body is JsonObject {
  return isObject(body) && String(body.uuid).toLowerCase() === uuid.toLowerCase();
}

export function seenOf(rows: Link["rows"], resource: Resource, body: unknown): SeenRow {
  const { allocation_uuid } = isObject(body) ? body : {};
  const strange = typeof allocation_uuid === "string" ? ["an allocation"] : [];
  return { row: rows.reported(resource, body), strange };
}

export async function readPorts({ service, rows }: Link, node: string): Promise<readonly Row[]> {
  return listed(await service.ask(`/v1/ports/detail?node_uuid=${node}&limit=1000`), "ports").map(
    (body) => rows.reported("port", body),
  );
}

/** The ports that have a MAC: one, or none. */
export async function portsByAddress({ service }: Link, address: string): Promise<readonly Json[]> {
  return listed(await service.ask(`/v1/ports?address=${address}`), "ports");
}

/** A text that is not empty. */
export function wordOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** A list in a body; nothing where there is none. */
export function listed(body: unknown, name: string): readonly Json[] {
  const list = isObject(body) ? body[name] : [];
  return Array.isArray(list) ? list : [];
}

/** All nodes and ports, as rows. @throws MigrationError as `pages` */
export async function listAll({ service, rows }: Link): Promise<Current> {
  const all = async (resource: Resource): Promise<readonly Row[]> => {
    const found: Row[] = [];
    for await (const page of pages(service, `${resource}s/detail`))
      found.push(...page.map((body) => rows.reported(resource, body)));
    return found;
  };
  return { nodes: await all("node"), ports: await all("port") };
}

/** Bodies a page. @source ironic: [api]max_limit */
const PAGE = 1000;

/**
 * Every member of a collection, page by page; an operator's smaller max_limit is followed. The first page is asked
 * for at once, and each other one while the one before it is worked on.
 *
 * @throws MigrationError N2I-E210 to N2I-E212: a list is whole, or there is none
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
  const asked = (marker: string): Promise<unknown> => {
    const page = pageOf(service, collection, `limit=${size}${query}${marker}`);
    // Whoever wants no more hears of no fault of it.
    page.catch(() => undefined);
    return page;
  };
  const first = asked("");
  async function* followed(): AsyncGenerator<readonly Json[]> {
    for (let next: Promise<unknown> | null = first; next !== null; ) {
      const body: unknown = await next;
      const page = listed(body, name ?? collection);
      const last = page.at(-1);
      const goesOn = isObject(body) && body.next !== undefined && isObject(last);
      next = goesOn ? asked(`&marker=${String(last.uuid)}`) : null;
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
