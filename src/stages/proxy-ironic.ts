import { listedNode, shownNode } from "../core/proxy/body.ts";
import { unauthorized, unknownNode } from "../core/proxy/decide.ts";
import type { Ident } from "../core/proxy/ident.ts";
import {
  listQuestion,
  type Page,
  pageOf,
  portsQuestion,
  type Question,
  type Range,
  rangeOf,
  showQuestion,
  sightQuestion,
} from "../core/proxy/upstream.ts";
import { type CallersIronic, versionsAt } from "../edge/ironic-rest/for-caller.ts";
import type { Http } from "../edge/openstack/http.ts";
import type { Answer } from "../edge/openstack/session.ts";
import { MigrationError } from "../model/error.ts";
import { objectOf } from "../model/json.ts";
import { faultReply, jsonReply, type Reply } from "../model/served.ts";

/** Ironic, asked for one request. */
export interface AskedIronic {
  readonly ironic: CallersIronic;
  readonly range: Range;
  /** Whether the caller sees every node; asked once for a token. */
  readonly sight: (ask: () => Promise<Answer | null>) => Promise<Answer | null>;
  /** Ironic refused the token, or the microversion. */
  readonly refused: (what: "token" | "version") => void;
  /** Keystone's, for whoever is to log in there. */
  readonly keystone: string;
  /** Of every answer. */
  readonly fields: Reply["fields"];
}

/** Nodes tried for a place in the list, where the last one read was deleted meanwhile. */
const TRIED = 20;

/**
 * The versions a service speaks, asked once and kept.
 *
 * @throws MigrationError N2I-E210 when it does not answer, N2I-E202 when it is none
 */
export function ranges(http: Http): {
  readonly of: (url: string) => Promise<Range>;
  readonly forget: (url: string) => void;
} {
  const known = new Map<string, Promise<Range>>();
  return {
    of(url) {
      const kept = known.get(url);
      if (kept !== undefined) return kept;
      const asked = askRange(http, url);
      known.set(url, asked);
      asked.catch(() => known.delete(url));
      return asked;
    },
    forget: (url) => void known.delete(url),
  };
}

async function askRange(http: Http, url: string): Promise<Range> {
  const said = await versionsAt(http, url);
  if ("why" in said) throw new MigrationError("N2I-E210", `Ironic does not answer: ${said.why}`);
  const range = rangeOf(said.minimum, said.maximum, said.body);
  if (range !== undefined) return range;
  throw new MigrationError("N2I-E202", "no bare metal service answers where Ironic is looked for");
}

/** Every node, page by page: what is fetched is sent before more is asked for. */
export async function listReply(at: AskedIronic): Promise<Reply> {
  const refused = await refusedSight(at);
  if (refused !== null) return refused;
  const first = await put(at, listQuestion(at.range, null));
  const page = first.status === 200 ? pageOf(first.body, "nodes") : null;
  if (page === null) return refusedBy(first, at);
  const fields = { "Content-Type": "application/json", ...at.fields };
  return { status: 200, fields, body: nodes(at, page) };
}

async function* nodes(at: AskedIronic, first: Page): AsyncGenerator<string> {
  let before = '{"nodes": [';
  for (let page: Page | null = first; page !== null; page = await pageBehind(at, page)) {
    const told = page.items.map((item) => JSON.stringify(nodeOf(item)));
    if (told.length > 0) {
      yield before + told.join(", ");
      before = ", ";
    }
  }
  yield before === ", " ? "]}" : `${before}]}`;
}

function nodeOf(item: unknown): object {
  const node = listedNode(item);
  if (node === null) throw new MigrationError("N2I-E212", "Ironic lists something that is no node");
  return node;
}

/**
 * The page behind this one; null: this was the last. Where the node it would go on behind is deleted,
 * the one before that has the same nodes behind it.
 *
 * @throws MigrationError N2I-E210: the list cannot be whole
 */
async function pageBehind(at: AskedIronic, { items, more }: Page): Promise<Page | null> {
  if (!more || items.length === 0) return null;
  let why = "no node of a page is there any more";
  for (const item of items.slice(-TRIED).toReversed()) {
    const marker = String(objectOf(item).uuid);
    const answer = await put(at, listQuestion(at.range, marker));
    const page = answer.status === 200 ? pageOf(answer.body, "nodes") : null;
    if (page !== null) {
      if (objectOf(page.items[0]).uuid !== objectOf(items[0]).uuid) return page;
      why = "Ironic lists the same page again";
      break;
    }
    why = answer.fault || `it answers ${answer.status}`;
    if (answer.status !== 404) break;
  }
  throw new MigrationError("N2I-E210", `the list of nodes broke off: ${why}`);
}

/** One node, with its ports. @param id as the caller wrote it */
export async function showReply(at: AskedIronic, ident: Ident, id: string): Promise<Reply> {
  const question = showQuestion(at.range, ident);
  if (question === null) return unknownNode(id, at.fields);
  const answer = await put(at, question);
  // 400: no name that this Ironic takes.
  if (answer.status === 404 || answer.status === 400)
    return (await refusedSight(at)) ?? unknownNode(id, at.fields);
  const { uuid } = objectOf(answer.body);
  if (answer.status !== 200 || typeof uuid !== "string") return refusedBy(answer, at);
  const ports: unknown[] = [];
  for (let marker: string | null = null; ; ) {
    const asked = await put(at, portsQuestion(at.range, uuid, marker));
    if (asked.status === 404 && marker === null) return unknownNode(id, at.fields);
    const page = asked.status === 200 ? pageOf(asked.body, "ports") : null;
    if (page === null) return refusedBy(asked, at);
    ports.push(...page.items);
    if (!page.more || page.items.length === 0) break;
    if (page.marker === null || page.marker === marker)
      return unavailable("it lists the same ports again", at);
    marker = page.marker;
  }
  return jsonReply(200, { node: shownNode(answer.body, ports) }, at.fields);
}

function put({ ironic, refused }: AskedIronic, { path, minor }: Question): Promise<Answer> {
  return ironic.ask(path, minor).then((answer) => {
    if (answer.status === 401) refused("token");
    // 406: it speaks other versions than it did; status 0 with one: likewise.
    if (answer.status === 406 || /microversion/.test(answer.fault)) refused("version");
    return answer;
  });
}

/** Null: the caller sees every node, so that what is not there is nowhere. */
async function refusedSight(at: AskedIronic): Promise<Reply | null> {
  const question = sightQuestion(at.range);
  const answer = await at.sight(async () => (question === null ? null : put(at, question)));
  if (answer === null || answer.status === 200) return null;
  return answer.status === 403 ? faultReply(403, PARTIAL, at.fields) : refusedBy(answer, at);
}

const PARTIAL =
  "Ironic shows the nodes of one project alone to this token, which would pass for all of them: use one that may list conductors.";

/** Ironic's own refusal as Nova would word it; anything else is no answer. */
function refusedBy(answer: Answer, at: AskedIronic): Reply {
  const { status, fault } = answer;
  const said = fault.replace(/^\d{3} ?/, "");
  if (status === 401) return unauthorized(at.keystone, said || undefined, at.fields);
  if (status === 403) return faultReply(403, said || "Ironic refuses it.", at.fields);
  return unavailable(fault || "it answers with something else", at);
}

function unavailable(why: string, { fields }: AskedIronic): Reply {
  return faultReply(503, `Ironic does not answer: ${why}`, fields);
}
