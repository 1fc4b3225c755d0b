import {
  addNic,
  type KnownNics,
  type Nic,
  noNics,
  type RunningNode,
  vifOf,
} from "../../model/adoptable.ts";
import { MigrationError } from "../../model/error.ts";
import { isObject, type Json, type JsonObject, objectOf } from "../../model/json.ts";
import { isUuid } from "../../model/uuid.ts";
import { pages } from "./look.ts";
import type { RestService } from "./service.ts";

/** Minors that brought what is asked. @source facts/ironic.md 4.1 */
const RESOURCE_CLASS = 21;
const PORTGROUPS = 26;

/**
 * The cards of all nodes in two listings, whatever their number.
 *
 * @throws MigrationError N2I-E209 where the service is too old, N2I-E210 to N2I-E212
 */
export async function readNics(service: RestService): Promise<KnownNics> {
  checkClasses(service);
  const known = noNics();
  for (const is of KINDS) {
    if (is === "portgroup" && service.minor < PORTGROUPS) continue;
    for await (const page of pages(service, `${is}s`, `&fields=node_uuid,${FIELDS[is]}`))
      for (const body of page) addNic(known, String(objectOf(body).node_uuid), nicOf(is, body));
  }
  return known;
}

const KINDS = ["port", "portgroup"] as const;
const FIELDS: { readonly [is in Nic["is"]]: string } = {
  port: "uuid,address,internal_info,extra",
  portgroup: "uuid,address,internal_info,extra,mode",
};

/** What Ironic chooses of its nodes, so that no other has to be sent. */
const CHOSEN = "&provision_state=active&associated=false&maintenance=false";

/** Nodes a page: one in every detail takes as much as ten cards, and two pages are held at a time. */
const NODES_A_PAGE = 250;

/**
 * Nodes page by page: those that can be adoptable by what Ironic can choose, or all. The first page is asked for at
 * once, so that it comes while others are waited for.
 *
 * @param nics by node, asked for once a page came; each is forgotten once its node came
 * @throws MigrationError N2I-E210 to N2I-E212
 */
export function runningNodes(
  service: RestService,
  nics: () => Promise<KnownNics["of"]>,
  { all }: { readonly all: boolean },
): AsyncGenerator<readonly RunningNode[]> {
  const query = `&detail=true${all ? "" : CHOSEN}`;
  const listing = pages(service, "nodes", query, NODES_A_PAGE);
  async function* nodes(): AsyncGenerator<readonly RunningNode[]> {
    for await (const page of listing) {
      const known = await nics();
      yield page.map((body) => {
        const { uuid } = objectOf(body);
        const own = known.get(String(uuid)) ?? [];
        known.delete(String(uuid));
        return nodeOf(service, body, own);
      });
    }
  }
  return nodes();
}

/**
 * One node as it is now.
 *
 * @param ident its uuid, or its name
 * @param nics its cards, where somebody read them; null: they are read too
 * @returns null where there is no such node
 * @throws MigrationError N2I-E209 to N2I-E212
 */
export async function readRunning(
  service: RestService,
  ident: string,
  nics: readonly Nic[] | null = null,
): Promise<RunningNode | null> {
  checkClasses(service);
  const asked = isUuid(ident) ? ident.toLowerCase() : ident;
  const body = await service.ask(`/v1/nodes/${encodeURIComponent(asked)}`);
  if (body === null) return null;
  const node = nodeOf(service, body as Json, nics ?? []); // what a body is was read from JSON
  // A uuid is no name: whatever is called so is not what was meant.
  const is = isUuid(ident) ? node.uuid === ident.toLowerCase() : node.name === ident;
  // Its database may compare names without their case.
  if (!is && !isUuid(ident) && node.name?.toLowerCase() === ident.toLowerCase()) return null;
  if (!is) throw notThat(service, `GET /v1/nodes/${ident}`);
  return nics === null ? { ...node, nics: await nicsOf(service, node.uuid) } : node;
}

async function nicsOf(service: RestService, node: string): Promise<readonly Nic[]> {
  const found: Nic[] = [];
  for (const is of KINDS) {
    if (is === "portgroup" && service.minor < PORTGROUPS) continue;
    const which = is === "port" ? "node_uuid" : "node";
    for await (const page of pages(service, `${is}s`, `&${which}=${node}&fields=${FIELDS[is]}`))
      found.push(...page.map((body) => nicOf(is, body)));
  }
  return found;
}

function notThat({ session }: RestService, what: string): MigrationError {
  return new MigrationError("N2I-E212", `${session.url} answers ${what} with something else`);
}

function checkClasses({ minor, identity, session }: RestService): void {
  if (minor < RESOURCE_CLASS)
    throw new MigrationError(
      "N2I-E209",
      `${session.url} speaks microversions up to ${identity.version}, and resource classes came with 1.${RESOURCE_CLASS}`,
    );
}

/**
 * A node as it is told, once it is known to be one.
 *
 * @throws MigrationError N2I-E212
 */
export function nodeIn(
  { session }: RestService,
  told: Json,
): { readonly uuid: string; readonly name: string | null; readonly told: JsonObject } {
  if (!isObject(told) || typeof told.uuid !== "string")
    throw new MigrationError("N2I-E212", `${session.url} lists something that is no node`);
  return { uuid: told.uuid, name: wordOf(told.name), told };
}

function nodeOf(service: RestService, body: Json, nics: readonly Nic[]): RunningNode {
  const { uuid, name, told } = nodeIn(service, body);
  const word = (field: string): string | null => wordOf(told[field]);
  return {
    ...{ uuid, name, nics },
    ...{ power_state: word("power_state"), provision_state: word("provision_state") },
    ...{ instance_uuid: word("instance_uuid"), allocation_uuid: word("allocation_uuid") },
    ...{ resource_class: word("resource_class"), last_error: word("last_error") },
    ...{ maintenance: told.maintenance === true, retired: told.retired === true },
    ...{ maintenance_reason: word("maintenance_reason"), created_at: word("created_at") },
    properties: objectOf(told.properties),
    instance_info: objectOf(told.instance_info),
    extra: objectOf(told.extra),
  };
}

function nicOf(is: Nic["is"], body: Json): Nic {
  const { uuid, address, internal_info, extra, mode } = objectOf(body);
  const vif = vifOf(internal_info, extra);
  return { is, uuid: String(uuid), address: wordOf(address), vif, mode: wordOf(mode) };
}

function wordOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
