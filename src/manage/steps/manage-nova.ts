import { MigrationError, orMessage, orNull } from "../../lib/error.ts";
import { FAKE } from "../../model/ironic/fake-hardware.ts";
import { MANAGE, type RunningNode, type ServerView } from "../../model/ironic/manage.ts";
import { inFlight } from "../../systems/ironic-api/pool.ts";
import type { NovaClients } from "../nova-clients.ts";
import type { ManagePart } from "./manage.ts";
import {
  type Act,
  isHanded,
  isMade,
  isPorted,
  type ManageChange,
  recording,
  recordOf,
  reservationOf,
  serverRecord,
  traitsIn,
} from "./manage-acts.ts";
import {
  anothers,
  differsFromStart,
  isInUse,
  maintenanceFor,
  marked,
  recordInUse,
  type ServerMaking,
} from "./manage-nova-create.ts";
import { FORWARD } from "./manage-nova-steps.ts";
import { blocked, blockedBy, type ManagePosition, NO_NODE, NONE } from "./manage-positions.ts";

/** Machines per batch. */
export const SIZE = 50;

/**
 * Creates Nova servers on fake hardware: Nova deploys, but no call reaches the machine.
 *
 * @source Ironic's guide, Adoption with Nova
 */
export function novaPart(
  clients: NovaClients,
  most: number,
  duplicates: ReadonlySet<string> = new Set(),
): ManagePart {
  // The quota error also applies to later machines, so they are not started.
  let over: string | null = null;
  return {
    ...{ name: MANAGE, size: SIZE },
    inspect: (changes) => inFlight(changes, most, (change) => whereIs(clients, change, duplicates)),
    async perform(change, position, begin) {
      const { id, request } = change;
      const { view } = position;
      if (view.node === null || request === null)
        throw new Error(`${id} does not exist and cannot be managed`);
      const at: ServerMaking = {
        ...{ ...change, ...recording(change.acts, begin), clients, request, view, duplicates },
        before: reservationOf(change)?.node ?? {},
      };
      const isStarted = marked(change, view) || isOwned(change, view);
      // If the driver was restored in the meantime, the machine may be in use.
      const inUse = isMade(at) && (await recordInUse(at, await clients.hardware.read(id)));
      const onFake = position.onFake === true && !inUse;
      if (onFake && change.back === true) {
        const refusal = await maintainAfter(at);
        return blocked(view, refusal === null ? BACK : `${BACK}; ${refusal}`);
      }
      if (over !== null && !isStarted) return blocked(view, `not begun: ${over}`);
      const first = isStarted ? firstOf(at.acts, onFake) : 0;
      for (const step of position.inService === true ? [] : FORWARD.slice(first)) {
        const reason = await createOrMaintain(at, step);
        if (reason === null) continue;
        over ??= at.over ?? null;
        return blocked(await lastState(clients, at, view), reason);
      }
      const reason = await unmarked(at);
      const made = withServer(at, view.node);
      return reason === null
        ? { view: made, is: "after", reasons: await twinsOf(at), rejectionKinds: [] }
        : { ...blocked(made, `its mark was not removed: ${reason}`), inService: true };
    },
  };
}

/** After a failure on fake hardware, maintenance stops Nova from offering the node. */
async function createOrMaintain(
  at: ServerMaking,
  step: (typeof FORWARD)[number],
): Promise<string | null> {
  try {
    const reason = await step.make(at);
    const refusal = reason === null ? null : await maintainAfter(at);
    return refusal === null ? reason : `${reason}; ${refusal}`;
  } catch (cause) {
    const refusal = await maintainAfter(at);
    if (refusal === null || !(cause instanceof MigrationError)) throw cause;
    const { code, message, fix } = cause;
    throw new MigrationError(code, `${message}; ${refusal}`, { cause, fix });
  }
}

async function maintainAfter(at: ServerMaking): Promise<string | null> {
  const { clients, id, server, acts } = at;
  if (!acts.some(({ step }) => step === "fake")) return null;
  try {
    const reason = await clients.hardware.maintain(id, maintenanceFor(server), async (now) => {
      await recordInUse(at, now);
      return anothers(at, now);
    });
    return reason === null ? "it is held in maintenance" : `it is not held, ${reason}`;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return `it is not held, put it in maintenance: ${reason}`;
  }
}

/** Nova may execute a requested deletion days later, on any hardware. */
const BACK = "its rollback was started, and Nova may still delete its server: run rollback";

/** Journal entries that are not steps. */
const NO_STEPS: ReadonlySet<Act["step"]> = new Set([
  ...(["made", "changed"] as const),
  ...(["out", "handed", "unhanded", "unmark"] as const),
]);

/** On fake hardware, the power step is repeated, because the user may have changed the power. */
function firstOf(acts: readonly Act[], onFake: boolean): number {
  const last = acts.findLast(({ step }) => !NO_STEPS.has(step))?.step;
  const at = (name: string | undefined) => FORWARD.findIndex(({ step }) => step === name);
  const index = Math.max(0, at(isHanded({ acts }) ? "release" : last));
  return onFake ? Math.min(index, at("power")) : index;
}

async function whereIs(
  clients: NovaClients,
  change: ManageChange,
  duplicates: ReadonlySet<string>,
): Promise<ManagePosition> {
  const { id, server } = change;
  const view = await clients.read(change);
  if (view.node === null) return blocked(view, NO_NODE, "gone");
  const now = isMade(change) ? await clients.hardware.read(id) : {};
  const fault = anothers(change, now);
  if (fault !== null)
    return blocked(
      view,
      change.open === false ? `${fault}: run node unmanage ${id}, then manage it again` : fault,
    );
  const isMarked = marked(change, view);
  if (isMarked && isPorted(change) && isInUse(change, now))
    return { is: "before", view, ...NONE, inService: true };
  const isServerOfRun = isOwned(change, view);
  // The mark was removed, but the driver may still be fake.
  if (!isMarked && isServerOfRun && now.driver !== FAKE) return { is: "after", view, ...NONE };
  if (isMarked || isServerOfRun) {
    const { request } = change;
    const before = reservationOf(change)?.node ?? {};
    const other = request && differsFromStart({ ...change, clients, request, view, before });
    const onFake = now.driver === FAKE && { onFake: true as const };
    return other === null ? { is: "before", view, ...NONE, ...onFake } : blocked(view, other);
  }
  const against = await clients.rejections(view, server, duplicates);
  if (against.length === 0) return { is: "before", view, ...NONE };
  return blockedBy(
    view,
    against.map((reason) => ({ reason, is: "state" })),
  );
}

/** The current state, or the last one if it cannot be read, so that the reason is reported. */
export async function lastState(
  { read }: NovaClients,
  change: ManageChange,
  view: ServerView,
): Promise<ServerView> {
  return (await orNull(read(change))) ?? view;
}

function isOwned(change: ManageChange, { node }: ServerView): boolean {
  return isMade(change) && node?.instance_uuid === recordOf(change);
}

/** Another server that Nova created after a lost response, to report. */
async function twinsOf(at: ServerMaking): Promise<readonly string[]> {
  if (at.again !== true) return [];
  // Only a report, so an error is ignored.
  const all = await orNull(at.clients.servers.twins(at.server, recordOf(at)));
  return (all ?? []).map(
    ({ id, status }) => `Nova also created server ${id}, in ${status}, without a node: delete it`,
  );
}

/** A mark that cannot be removed, for example while the node is locked, is no reason to act. */
async function unmarked(at: ServerMaking): Promise<string | null> {
  const { clients, id, server, before } = at;
  await at.begin({ step: "unmark" });
  return orMessage(clients.recordClient.release(id, server, traitsIn(before)));
}

/** The last observed state of a machine, with its Nova server. */
function withServer(
  { view, ...change }: ManageChange & { readonly view: ServerView },
  node: RunningNode,
): ServerView {
  const uuid = recordOf(change);
  const record = serverRecord(change, { uuid, node_uuid: change.id, state: "active" });
  return { ...view, node: { ...node, instance_uuid: uuid }, record };
}
