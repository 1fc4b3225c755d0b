import { MigrationError, orMessage, orNull } from "../../lib/error.ts";
import type { RunningNode } from "../../model/ironic/adoptable.ts";
import { FAKE } from "../../model/ironic/fake-hardware.ts";
import { MANAGE, type ServerView } from "../../model/ironic/manage.ts";
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
import { differsFromStart } from "./manage-nova-create.ts";
import {
  anothers,
  isInUse,
  maintenanceFor,
  marked,
  recordInUse,
  type ServerMaking,
} from "./manage-nova-marks.ts";
import { type ServerStep, THERE } from "./manage-nova-steps.ts";
import { left, type ManagePosition, NO_NODE, NONE, stays } from "./manage-positions.ts";

/** Machines per batch. */
export const SIZE = 50;

/**
 * Creates Nova servers on fake hardware: Nova deploys, but no call reaches the machine.
 *
 * @source Ironic's guide, Adoption with Nova
 */
export function novaPart(
  hands: NovaClients,
  most: number,
  twice: ReadonlySet<string> = new Set(),
): ManagePart {
  // The quota error also applies to later machines, so they are not started.
  let over: string | null = null;
  return {
    ...{ name: MANAGE, size: SIZE },
    inspect: (changes) => inFlight(changes, most, (change) => whereIs(hands, change, twice)),
    async perform(change, position, begin) {
      const { id, asked } = change;
      const { seen } = position;
      if (seen.node === null || asked === null)
        throw new Error(`${id} does not exist and cannot be managed`);
      const at: ServerMaking = {
        ...{ ...change, ...recording(change.acts, begin), hands, asked, seen, twice },
        before: reservationOf(change)?.node ?? {},
      };
      const isStarted = marked(change, seen) || isOwned(change, seen);
      // If the driver was restored since, the machine may be in use.
      const inUse = isMade(at) && (await recordInUse(at, await hands.hardware.read(id)));
      const onFake = position.onFake === true && !inUse;
      if (onFake && change.back === true) {
        const held = await maintainAfter(at);
        return stays(seen, held === null ? BACK : `${BACK}; ${held}`);
      }
      if (over !== null && !isStarted) return stays(seen, `not begun: ${over}`);
      const first = isStarted ? firstOf(at.acts, onFake) : 0;
      for (const step of position.inService === true ? [] : THERE.slice(first)) {
        const why = await createOrMaintain(at, step);
        if (why === null) continue;
        over ??= at.over ?? null;
        return stays(await lastState(hands, at, seen), why);
      }
      const why = await unmarked(at);
      const made = withServer(at, seen.node);
      return why === null
        ? { seen: made, is: "after", why: await twinsOf(at), hindrances: [] }
        : { ...stays(made, `its mark was not removed: ${why}`), inService: true };
    },
  };
}

/** After a failure on fake hardware, maintenance stops Nova from offering the node. */
async function createOrMaintain(at: ServerMaking, step: ServerStep): Promise<string | null> {
  try {
    const why = await step.make(at);
    const held = why === null ? null : await maintainAfter(at);
    return held === null ? why : `${why}; ${held}`;
  } catch (cause) {
    const held = await maintainAfter(at);
    if (held === null || !(cause instanceof MigrationError)) throw cause;
    const { code, message, fix } = cause;
    throw new MigrationError(code, `${message}; ${held}`, { cause, fix });
  }
}

async function maintainAfter(at: ServerMaking): Promise<string | null> {
  const { hands, id, server, acts } = at;
  if (!acts.some(({ step }) => step === "fake")) return null;
  try {
    const why = await hands.hardware.hold(id, maintenanceFor(server), async (now) => {
      await recordInUse(at, now);
      return anothers(at, now);
    });
    return why === null ? "it is held in maintenance" : `it is not held, ${why}`;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    return `it is not held, put it in maintenance: ${why}`;
  }
}

/** Nova may execute a requested deletion days later, on any hardware. */
const BACK = "its rollback was started, and Nova may still delete its server: run rollback";

/** Journal entries that are not steps. */
const BESIDE: ReadonlySet<Act["step"]> = new Set([
  ...(["made", "changed"] as const),
  ...(["out", "handed", "unhanded", "unmark"] as const),
]);

/** On fake hardware, the power step is repeated, because the user may have changed the power. */
function firstOf(acts: readonly Act[], onFake: boolean): number {
  const last = acts.findLast(({ step }) => !BESIDE.has(step))?.step;
  const at = (name: string | undefined) => THERE.findIndex(({ step }) => step === name);
  const begun = Math.max(0, at(isHanded({ acts }) ? "release" : last));
  return onFake ? Math.min(begun, at("power")) : begun;
}

async function whereIs(
  hands: NovaClients,
  change: ManageChange,
  twice: ReadonlySet<string>,
): Promise<ManagePosition> {
  const { id, server } = change;
  const seen = await hands.look(change);
  if (seen.node === null) return stays(seen, NO_NODE, "gone");
  const now = isMade(change) ? await hands.hardware.read(id) : {};
  const gone = anothers(change, now);
  if (gone !== null)
    return stays(
      seen,
      change.open === false ? `${gone}: run node unmanage ${id}, then manage it again` : gone,
    );
  const isMarked = marked(change, seen);
  if (isMarked && isPorted(change) && isInUse(change, now))
    return { is: "before", seen, ...NONE, inService: true };
  const isServerOfRun = isOwned(change, seen);
  // The mark was removed, but the driver may still be fake.
  if (!isMarked && isServerOfRun && now.driver !== FAKE) return { is: "after", seen, ...NONE };
  if (isMarked || isServerOfRun) {
    const { asked } = change;
    const before = reservationOf(change)?.node ?? {};
    const other = asked && differsFromStart({ ...change, hands, asked, seen, before });
    const onFake = now.driver === FAKE && { onFake: true as const };
    return other === null ? { is: "before", seen, ...NONE, ...onFake } : stays(seen, other);
  }
  const against = await hands.objections(seen, server, twice);
  if (against.length === 0) return { is: "before", seen, ...NONE };
  return left(
    seen,
    against.map((why) => ({ why, is: "state" })),
  );
}

/** The current state, or the last one if it cannot be read, so that the reason is reported. */
export async function lastState(
  { look }: NovaClients,
  change: ManageChange,
  seen: ServerView,
): Promise<ServerView> {
  return (await orNull(look(change))) ?? seen;
}

function isOwned(change: ManageChange, { node }: ServerView): boolean {
  return isMade(change) && node?.instance_uuid === recordOf(change);
}

/** Another server that Nova created after a lost response, to report. */
async function twinsOf(at: ServerMaking): Promise<readonly string[]> {
  if (at.again !== true) return [];
  // Only a report, so an error is ignored.
  const all = await orNull(at.hands.servers.twins(at.server, recordOf(at)));
  return (all ?? []).map(
    ({ id, status }) => `Nova also created server ${id}, in ${status}, without a node: delete it`,
  );
}

/** A mark that cannot be removed, for example while the node is locked, is no reason to act. */
async function unmarked(at: ServerMaking): Promise<string | null> {
  const { hands, id, server, before } = at;
  await at.begin({ step: "unmark" });
  return orMessage(hands.recordClient.release(id, server, traitsIn(before)));
}

/** The last observed state of a machine, with its Nova server. */
function withServer(
  { seen, ...change }: ManageChange & { readonly seen: ServerView },
  node: RunningNode,
): ServerView {
  const uuid = recordOf(change);
  const record = serverRecord(change, { uuid, node_uuid: change.id, state: "active" });
  return { ...seen, node: { ...node, instance_uuid: uuid }, record };
}
