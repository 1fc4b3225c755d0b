import { MigrationError } from "../../lib/error.ts";
import { isObject, type Json, objectOf } from "../../lib/json.ts";
import { isUuid } from "../../lib/uuid.ts";
import {
  type ComparedNode,
  type ExistingNics,
  gatherNics,
  type Nic,
  type RunningNode,
  vifOf,
} from "../../model/ironic/manage.ts";
import { lowerCaseText, notThat, pages } from "./body.ts";
import { inFlight } from "./pool.ts";
import { checkMinor, type RestService } from "./service.ts";

/** @source facts/ironic.md 4.1 */
const PORTGROUPS = 26;

/** @throws MigrationError N2I-E209 if the service is too old, N2I-E210 to N2I-E212 */
export async function readNics(service: RestService): Promise<ExistingNics> {
  checkMinor(service, "resource classes");
  const nics = gatherNics();
  // Both first pages are requested at once.
  const listings = kindsOf(service).map(
    (is) => [is, pages(service, `${is}s`, `&fields=node_uuid,${FIELDS}`)] as const,
  );
  for (const [is, listing] of listings)
    for await (const page of listing)
      for (const body of page) nics.put(String(objectOf(body).node_uuid), nicOf(is, body));
  return nics;
}

const KINDS = ["port", "portgroup"] as const;

function kindsOf({ minor }: RestService): readonly Nic["is"][] {
  return KINDS.filter((is) => is === "port" || minor >= PORTGROUPS);
}

const FIELDS = "uuid,address,internal_info,extra";

const ACTIVE = "&provision_state=active";
/** Filters that Ironic can apply. */
const CHOSEN = `${ACTIVE}&associated=false&maintenance=false`;

/** Smaller, because a detailed node is as large as ten NICs and two pages are in memory. */
const NODES_A_PAGE = 400;

/** Pages kept while waiting for other data. */
const MAX_PAGES = 5;

/**
 * Fetches the first pages while waiting for other data.
 *
 * @param until delays the first result
 * @throws MigrationError N2I-E210 to N2I-E212
 */
export function runningNodes(
  service: RestService,
  nics: Promise<ExistingNics>,
  until: Promise<unknown>,
  { all }: { readonly all: boolean },
): AsyncGenerator<readonly RunningNode[]> {
  const query = `&detail=true${all ? "" : CHOSEN}`;
  const listing = nodesOf(pages(service, "nodes", query, NODES_A_PAGE));
  const collected = collectUntil(until, listing);
  collected.catch(() => undefined);
  async function* nodes(): AsyncGenerator<readonly RunningNode[]> {
    const nicsOf = (await nics).of;
    const first = await collected;
    const merge = (node: RunningNode) => ({ ...node, nics: nicsOf(node.uuid) });
    for (let page = first.shift(); page !== undefined; page = first.shift()) yield page.map(merge);
    for await (const page of listing) yield page.map(merge);
  }
  /** Converted early, because a page is three times as large as the result. */
  async function* nodesOf(
    listed: AsyncIterable<readonly Json[]>,
  ): AsyncGenerator<readonly RunningNode[]> {
    for await (const page of listed) yield page.map((body) => nodeOf(nodeIn(service, body), []));
  }
  return nodes();
}

async function collectUntil<T>(until: Promise<unknown>, listing: AsyncIterator<T>): Promise<T[]> {
  let waits = true;
  const ends = (): void => {
    waits = false;
  };
  until.then(ends, ends);
  const collected: T[] = [];
  while (waits && collected.length < MAX_PAGES) {
    const { done, value } = await listing.next();
    if (done === true) break;
    collected.push(value);
  }
  return collected;
}

/**
 * @param ident uuid or name
 * @param nics null to read them
 * @throws MigrationError N2I-E209 to N2I-E212
 */
export async function readRunning(
  service: RestService,
  ident: string,
  nics: readonly Nic[] | null = null,
): Promise<RunningNode | null> {
  const node = await readNode(service, ident);
  return node && nodeOf(node, nics ?? (await nicsOf(service, node.uuid)));
}

async function readNode(service: RestService, ident: string): Promise<NodeIn | null> {
  checkMinor(service, "resource classes");
  const idOrName = isUuid(ident) ? ident.toLowerCase() : ident;
  const body = await service.ask(`/v1/nodes/${encodeURIComponent(idOrName)}`);
  if (body === null) return null;
  const node = nodeIn(service, body as Json); // parsed JSON
  // A node whose name is a uuid is not matched.
  const is = isUuid(ident) ? node.uuid === ident.toLowerCase() : node.name === ident;
  // The database may compare names case-insensitively.
  if (!is && !isUuid(ident) && node.name?.toLowerCase() === ident.toLowerCase()) return null;
  if (!is) throw notThat(service, `/v1/nodes/${ident}`);
  return node;
}

/** From this number on, nodes are searched in the list. */
const SEVERAL = 16;

/** A list is cheaper per node. @source measured on 2023.1: 6 ms, and 0.5 ms in a list */
const CHEAPER = 12;

/**
 * Many nodes are read from the list of active nodes while that is faster, the rest individually.
 *
 * @param idents uuids or names
 * @returns in the order of the idents, null for a missing node
 * @throws MigrationError N2I-E209 to N2I-E212
 */
export function readSeveral(
  service: RestService,
  idents: readonly string[],
  most: number,
  nics: ExistingNics["of"],
): Promise<readonly (RunningNode | null)[]> {
  const read = severalBy("&detail=true", (node) => nodeOf(node, nics(node.uuid)));
  return read(service, idents, most);
}

export const readUuids = severalBy("&fields=uuid,name", ({ uuid }) => uuid);

/** A detailed list queries the allocation of each node, which takes eight times as long. */
export const readCompared = severalBy(
  "&fields=uuid,name,instance_uuid,resource_class,instance_info,extra,maintenance,maintenance_reason",
  (node): ComparedNode => nodeOf(node, []),
);

function severalBy<T>(query: string, of: (node: NodeIn) => T) {
  return async (
    service: RestService,
    idents: readonly string[],
    most: number,
  ): Promise<readonly (T | null)[]> => {
    const found =
      idents.length < SEVERAL ? new Map<string, T>() : await inList(service, idents, query, of);
    return inFlight(idents, most, async (ident) => {
      const cached = found.get(isUuid(ident) ? ident.toLowerCase() : ident);
      if (cached !== undefined) return cached;
      const node = await readNode(service, ident);
      return node && of(node);
    });
  };
}

async function inList<T>(
  service: RestService,
  idents: readonly string[],
  query: string,
  of: (node: NodeIn) => T,
): Promise<ReadonlyMap<string, T>> {
  checkMinor(service, "resource classes");
  const found = new Map<string, T>();
  const keys = new Set(idents.map((ident) => (isUuid(ident) ? ident.toLowerCase() : ident)));
  let passed = 0;
  for await (const page of pages(service, "nodes", `${query}${ACTIVE}`, NODES_A_PAGE)) {
    for (const body of page) {
      const node = nodeIn(service, body);
      const ident = keys.has(node.uuid) ? node.uuid : node.name;
      if (ident !== null && keys.has(ident)) found.set(ident, of(node));
    }
    passed += page.length;
    if (found.size === keys.size || passed >= idents.length * CHEAPER) break;
  }
  return found;
}

async function nicsOf(service: RestService, node: string): Promise<readonly Nic[]> {
  const found: Nic[] = [];
  for (const is of kindsOf(service)) {
    const which = is === "port" ? "node_uuid" : "node";
    for await (const page of pages(service, `${is}s`, `&${which}=${node}&fields=${FIELDS}`))
      found.push(...page.map((body) => nicOf(is, body)));
  }
  return found;
}

type NodeIn = ReturnType<typeof nodeIn>;

/** @throws MigrationError N2I-E212 */
export function nodeIn({ session }: RestService, body: Json) {
  if (!isObject(body) || typeof body.uuid !== "string")
    throw new MigrationError("N2I-E212", `${session.url} lists an object that is not a node`);
  return { uuid: body.uuid, name: lowerCaseText(body.name), body };
}

function nodeOf({ uuid, name, body }: NodeIn, nics: readonly Nic[]): RunningNode {
  const textOf = (field: string): string | null => lowerCaseText(body[field]);
  return {
    ...{ uuid, name, nics },
    ...{ power_state: textOf("power_state"), provision_state: textOf("provision_state") },
    ...{ instance_uuid: textOf("instance_uuid"), allocation_uuid: textOf("allocation_uuid") },
    ...{ resource_class: textOf("resource_class"), last_error: textOf("last_error") },
    ...{ maintenance: body.maintenance === true, retired: body.retired === true },
    ...{ maintenance_reason: textOf("maintenance_reason"), created_at: textOf("created_at") },
    properties: objectOf(body.properties),
    instance_info: objectOf(body.instance_info),
    extra: objectOf(body.extra),
  };
}

function nicOf(is: Nic["is"], body: Json): Nic {
  const { uuid, address, internal_info, extra } = objectOf(body);
  const vif = vifOf(internal_info, extra);
  return { is, uuid: String(uuid), address: lowerCaseText(address), vif };
}
