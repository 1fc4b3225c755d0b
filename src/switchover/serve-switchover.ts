import { MigrationError } from "../lib/error.ts";
import { loadIdentical } from "../migrate/open/documents.ts";
import { openManageClients } from "../migrate/open/services.ts";
import {
  CLOSED,
  ironicFault as fault,
  jsonReply,
  type Reply,
  type ServedRequest,
} from "../model/served.ts";
import { closing } from "../run/databases.ts";
import { lockRun, openRun } from "../run/files/run-folder.ts";
import { processContext } from "../run/process-context.ts";
import { type Asking, asCaller, openCallers, ranges, whose } from "../serving/caller.ts";
import { openPolicy } from "../serving/policy-file.ts";
import type { Ident } from "../serving/rules/upstream.ts";
import {
  checkLoopback,
  type ServeOptions,
  type ServeReport,
  serveUntilStopped,
  signalsOf,
} from "../serving/serve.ts";
import { readRunning } from "../systems/ironic-api/running.ts";
import { checkMinor } from "../systems/ironic-api/service.ts";
import { openHttp } from "../systems/openstack/http.ts";
import {
  bodyOf,
  DENIED,
  negotiatedOf,
  requestedActionOf,
  SWITCH_RULE,
  SWITCHED,
  sourceIn,
  statusOf,
} from "./rules/served.ts";
import type { Switchover } from "./rules/switching.ts";
import type { SwitchOptions } from "./switchover.ts";
import { openSwitchNova } from "./switchover-nova.ts";
import { decide, type SwitchRequest } from "./switchover-plan.ts";
import { openSwitchings, type SwitchingsAt } from "./switchover-queue.ts";
import { writeAccepted } from "./switchover-run.ts";

export interface ServeSwitchOptions
  extends ServeOptions,
    Omit<SwitchOptions, "run" | "source" | "destination" | "dryRun" | "sourceConfirmedOff"> {
  readonly state: string;
}

interface ServeSwitchReport extends ServeReport {
  /** Milliseconds between attempts if a service does not answer, and the number of attempts. */
  readonly pause?: number;
  readonly tries?: number;
}

const PAUSE_MS = 30_000;
/** Retries for an hour or more, because each attempt also waits for answers. */
const TRIES = 120;

const STOPPING =
  "Stopping: no new requests. Each switchover finishes its step. To resume, start the service again with the same --state.";

/**
 * Each accepted request becomes a run in --state. Unfinished runs of an earlier process are resumed
 * first.
 *
 * @throws MigrationError N2I-E100, N2I-E106, N2I-E109, N2I-E110, N2I-E112, N2I-E113, N2I-E116 to
 * N2I-E118, N2I-E302
 */
export function serveSwitchover(
  options: ServeSwitchOptions,
  output: ServeSwitchReport,
): Promise<void> {
  return closing(async (keep) => {
    checkLoopback(options);
    const state = await openRun(options.state, { create: true });
    const release = await lockRun(state, "serve switchover");
    const policy = openPolicy(options.policyFile, [SWITCH_RULE], "Ironic's");
    const interrupt = processContext().onInterrupt(signalsOf(policy, output, STOPPING));
    const { report, pause = PAUSE_MS, tries = TRIES } = output;
    let isEnding = false;
    try {
      const opened = await openManageClients(options, keep, report, true);
      checkMinor(opened.service, "switchover");
      const nova = await openSwitchNova(options, opened, keep, { readOnly: false });
      const clients = { ...opened, nova };
      const http = openHttp(clients.cloud.tls, clients.limit);
      const callers = openCallers(http, options);
      const doc = await loadIdentical(options.identical);
      const at = {
        ...{ clients, doc, options, state: state.path, report, pause, tries },
        stopping: () => isEnding || interrupt.stopping(),
      };
      const switchings = await openSwitchings(at);
      const { leaveNova } = options;
      const parts: SwitchParts = { ...at, switchings, leaveNova, versions: ranges(http) };
      const { url } = clients.service.session;
      try {
        await serveUntilStopped(options, output, interrupt, http, {
          path: SWITCHED,
          answer: (request) => answerTo(parts, callers, policy, request),
          ...{ policy, fault, upstream: () => `Ironic ${url}` },
        });
      } finally {
        isEnding = true;
        await switchings.ended();
      }
    } finally {
      interrupt.end();
      await release();
    }
  });
}

interface SwitchParts extends SwitchingsAt, Pick<SwitchRequest, "leaveNova"> {
  readonly switchings: Awaited<ReturnType<typeof openSwitchings>>;
  readonly versions: ReturnType<typeof ranges>;
}

type Fields = Reply["fields"];

/** Answers a PUT after the run is written. @source facts/systems.md B3 */
async function answerTo(
  parts: SwitchParts,
  callers: ReturnType<typeof openCallers>,
  policy: ReturnType<typeof openPolicy>,
  request: ServedRequest,
): Promise<Reply> {
  const who = await whose(callers, request, fault);
  if ("status" in who) return who;
  const action = requestedActionOf(request.method);
  if (action === "nothing") return plain(405, "Method Not Allowed", "", { Allow: "GET, PUT" });
  if (!policy.allows(SWITCH_RULE, who.cached.owner)) return fault(403, DENIED);
  const { fields, reason } = await versionOf(parts, request);
  if (reason !== null) return plain(406, "Not Acceptable", reason, fields);
  const reply = action === "switch" ? switchReply : showReply;
  return asCaller(
    callers,
    parts.clients.service,
    { ...who, request },
    (at) => reply(parts, at, fields),
    ({ code, message }, refused) => fault(refused ?? statusOf(code), message, fields),
  );
}

/** The microversions of Ironic, read again if refused, because Ironic may have been upgraded. */
async function versionOf({ versions, clients }: SwitchParts, { fields }: ServedRequest) {
  const { url } = clients.service.session;
  const negotiate = async () => {
    const range = await versions.of(url);
    if (range === null)
      throw new MigrationError("N2I-E209", `the responses of ${url} have no microversion headers`);
    return negotiatedOf(fields, range);
  };
  const first = await negotiate();
  if (first.reason === null) return first;
  versions.forget(url);
  return negotiate();
}

/** Ironic's error format before a controller is called. @source facts/systems.md B2 */
function plain(code: number, title: string, description: string, fields: Fields): Reply {
  return jsonReply(code, { error_message: JSON.stringify({ code, title, description }) }, fields);
}

/** Attempts to find a spare that no other request reserves. */
const ATTEMPTS = 20;

async function switchReply(parts: SwitchParts, at: Asking, fields: Fields): Promise<Reply> {
  const { request, owner } = at;
  const body = bodyOf(request);
  if ("reason" in body)
    return body.status === 415
      ? plain(415, "Unsupported Media Type", body.reason, fields)
      : fault(400, body.reason, fields);
  const { name, ident } = sourceIn(request.path);
  if (ident === null) return unknown(name, fields);
  if (parts.stopping()) return fault(503, "The service is shutting down.", fields);
  const plan = await reserved(parts, at, ident, body.target);
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
  { doc, leaveNova, clients, switchings }: SwitchParts,
  { service }: Asking,
  { is, text: source }: Ident,
  target: string | null,
): Promise<Switchover | null> {
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
      if (!isOlder || tries === ATTEMPTS) throw error;
    }
    if (tries === ATTEMPTS)
      throw new MigrationError("N2I-E381", "other switchovers reserve every spare");
  }
}

async function showReply(
  { switchings }: SwitchParts,
  { request, service }: Asking,
  fields: Fields,
): Promise<Reply> {
  const { name, ident } = sourceIn(request.path);
  const node = ident === null ? null : await readRunning(service, ident.text, []);
  if (node === null) return unknown(name, fields);
  const switchover = await switchings.newest(node.uuid);
  return switchover === null
    ? fault(404, `Node ${name} has no switchover.`, fields)
    : jsonReply(200, { switchover }, fields);
}

function unknown(ident: string, fields: Fields): Reply {
  return fault(404, `Node ${ident} could not be found.`, fields);
}
