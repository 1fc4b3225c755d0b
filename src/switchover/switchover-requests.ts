import { MigrationError } from "../lib/error.ts";
import {
  CLOSED,
  ironicFault as fault,
  jsonReply,
  type Reply,
  type ServedRequest,
  type TokenOwner,
} from "../model/served.ts";
import type { IdenticalDoc } from "../model/switchover.ts";
import { type Callers, whose } from "../serving/caller.ts";
import { callersService } from "../serving/for-caller.ts";
import type { Ident } from "../serving/rules/ident.ts";
import type { ranges } from "../serving/versions.ts";
import { readRunning } from "../systems/ironic-api/running.ts";
import type { RestService } from "../systems/ironic-api/service.ts";
import type { Http } from "../systems/openstack/http.ts";
import {
  bodyOf,
  DENIED,
  negotiatedOf,
  requestedActionOf,
  sourceIn,
  statusOf,
} from "./rules/served.ts";
import type { Switchover } from "./rules/switching.ts";
import type { SwitchClients } from "./switchover-perform.ts";
import { decide, type SwitchRequest } from "./switchover-plan.ts";
import type { openSwitchings } from "./switchover-queue.ts";
import { writeAccepted } from "./switchover-state.ts";

export interface SwitchParts extends Callers, Pick<SwitchRequest, "leaveNova"> {
  readonly http: Http;
  readonly clients: SwitchClients;
  readonly ranges: ReturnType<typeof ranges>;
  readonly doc: IdenticalDoc;
  readonly state: string;
  readonly switchings: Awaited<ReturnType<typeof openSwitchings>>;
  readonly allows: (who: TokenOwner) => boolean;
  readonly stopping: () => boolean;
  readonly report: (text: string) => void;
}

type Fields = Reply["fields"];

/** The caller, and Ironic with the caller's token. */
interface Asking {
  readonly parts: SwitchParts;
  readonly request: ServedRequest;
  readonly owner: TokenOwner;
  readonly service: RestService;
  readonly fields: Fields;
}

/** Answers a PUT after the run is written. @source facts/systems.md B3 */
export function switchAnswer(parts: SwitchParts): (request: ServedRequest) => Promise<Reply> {
  return async (request) => {
    const who = await whose(parts, request, fault);
    if ("status" in who) return who;
    const action = requestedActionOf(request.method);
    if (action === "nothing") return plain(405, "Method Not Allowed", "", { Allow: "GET, PUT" });
    if (!parts.allows(who.cached.owner)) return fault(403, DENIED);
    const { fields, reason } = await versionOf(parts, request);
    if (reason !== null) return plain(406, "Not Acceptable", reason, fields);
    let denied: 401 | 403 | null = null;
    const { token } = who;
    const service = callersService(parts.http, parts.clients.service, request, token, (status) => {
      denied = status;
      if (token !== null) parts.tokens?.forget(token);
    });
    const at: Asking = { parts, request, owner: who.cached.owner, service, fields };
    try {
      return action === "switch" ? await switchReply(at) : await showReply(at);
    } catch (error) {
      if (!(error instanceof MigrationError)) throw error;
      return fault(denied ?? statusOf(error.code), error.message, fields);
    }
  };
}

/** The microversions of Ironic, read again if refused, because Ironic may have been upgraded. */
async function versionOf({ ranges, clients }: SwitchParts, { fields }: ServedRequest) {
  const { url } = clients.service.session;
  const negotiate = async () => {
    const range = await ranges.of(url);
    if (range === null)
      throw new MigrationError("N2I-E209", `the responses of ${url} have no microversion headers`);
    return negotiatedOf(fields, range);
  };
  const first = await negotiate();
  if (first.reason === null) return first;
  ranges.forget(url);
  return negotiate();
}

/** Ironic's error format before a controller is called. @source facts/systems.md B2 */
function plain(code: number, title: string, description: string, fields: Fields): Reply {
  return jsonReply(code, { error_message: JSON.stringify({ code, title, description }) }, fields);
}

/** Attempts to find a spare that no other request reserves. */
const TRIES = 20;

async function switchReply(at: Asking): Promise<Reply> {
  const { parts, request, fields, owner } = at;
  const body = bodyOf(request);
  if ("reason" in body)
    return body.status === 415
      ? plain(415, "Unsupported Media Type", body.reason, fields)
      : fault(400, body.reason, fields);
  const { name, ident } = sourceIn(request.path);
  if (ident === null) return unknown(name, fields);
  if (parts.stopping()) return fault(503, "The service is shutting down.", fields);
  const plan = await reserved(at, ident, body.target);
  if (plan === null) return unknown(name, fields);
  if (request.isClosed()) {
    parts.switchings.release(plan);
    return fault(400, CLOSED, fields);
  }
  try {
    const { user_id, project_id } = owner;
    const user = { user_id, project_id, request: request.globalId };
    const accepted = await writeAccepted(parts.state, plan, user, new Date().toISOString());
    parts.switchings.begin(accepted, plan);
  } catch (error) {
    parts.switchings.release(plan);
    throw error;
  }
  parts.report(
    `${plan.source_name ?? plan.source}: switchover ${plan.id} to ${plan.destination_name ?? plan.destination}, requested by user ${owner.user_id}, ${request.globalId}`,
  );
  // By uuid, because the names change.
  const where = { Location: `/v1/nodes/${plan.source}/switchover` };
  return { status: 202, fields: { ...fields, ...where }, body: "" };
}

/** @returns null for an unknown source. @throws MigrationError N2I-E380 to N2I-E387, N2I-E392 */
async function reserved(
  { parts, service }: Asking,
  { is, text: source }: Ident,
  target: string | null,
): Promise<Switchover | null> {
  const { doc, leaveNova, clients, switchings } = parts;
  const request: SwitchRequest = {
    ...{ leaveNova, source, nova: clients.nova, everywhere: clients.service },
    ...(target !== null && { destination: target }),
  };
  for (let tries = 1; ; tries += 1) {
    // Nodes reserved later are found by the next attempt.
    const now = { ...request, taken: new Set(switchings.taken()) };
    try {
      const { plan } = await decide(service, doc, now);
      const before = is === "name" ? switchings.byName(source, plan.source) : undefined;
      // A retry after a lost response would otherwise move the node that now has the name.
      if (before !== undefined)
        throw new MigrationError(
          "N2I-E381",
          `${source} is the name of node ${plan.source} since switchover ${before.id} of node ${before.source}: use the uuid of the node`,
        );
      if (switchings.reserve(plan)) return plan;
    } catch (error) {
      if (error instanceof MigrationError && error.code === "N2I-E306") return null;
      // A switchover that just started may have caused the error. Its nodes are reported instead.
      const isOlder = [...switchings.taken()].some((node) => !now.taken.has(node));
      if (!isOlder || tries === TRIES) throw error;
    }
    if (tries === TRIES)
      throw new MigrationError("N2I-E381", "other switchovers reserve every spare");
  }
}

async function showReply({ parts, request, service, fields }: Asking): Promise<Reply> {
  const { name, ident } = sourceIn(request.path);
  const node = ident === null ? null : await readRunning(service, ident.text, []);
  if (node === null) return unknown(name, fields);
  const switchover = await parts.switchings.newest(node.uuid);
  return switchover === null
    ? fault(404, `Node ${name} has no switchover.`, fields)
    : jsonReply(200, { switchover }, fields);
}

function unknown(ident: string, fields: Fields): Reply {
  return fault(404, `Node ${ident} could not be found.`, fields);
}
