import { randomUUID } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { hostname } from "node:os";
import type { Begun } from "../../engine/begun.ts";
import { windowBack, windowForward } from "../../engine/window.ts";
import { ONE_BY_ONE } from "../../engine/window-part.ts";
import { MigrationError } from "../../lib/error.ts";
import { isObject } from "../../lib/json.ts";
import { listed, NAMED } from "../../lib/text.ts";
import { isUuid } from "../../lib/uuid.ts";
import { checkNova } from "../../migrate/hosts/nova-place.ts";
import type { Left } from "../../model/change.ts";
import type { LegacyMove } from "../../model/nova/legacy-move.ts";
import type { NovaTarget } from "../../model/nova/nova-plan.ts";
import { failpoint } from "../../run/failpoint.ts";
import { type RunFolder, readNote, writeNote } from "../../run/files/run-folder.ts";
import type { MovePlan } from "../../run/host-files.ts";
import { type RunSession, withSession } from "../../run/session.ts";
import { readComputeHosts } from "../../systems/nova-db/services.ts";
import { createNovaTarget } from "../../systems/nova-db/target.ts";
import { keepLocks } from "../leases/locks.ts";
import { claimNode, releaseNode } from "../leases/nodes.ts";
import { wayBack, wayThere } from "../rules/legacy-way.ts";
import { checkSource, type LegacyPlace } from "./legacy-place.ts";
import type { LegacyMachine } from "./steps/legacy-begun.ts";
import { legacyPart } from "./steps/legacy-move.ts";
import type { LegacyHands } from "./steps/legacy-rows.ts";

/** Milliseconds a lock lasts that nobody renews any more. */
const TTL = 60_000;
/** Milliseconds after which a step is preceded by a look whether its locks are ours. */
const RENEW = TTL / 6;

type Locks = Pick<Awaited<ReturnType<typeof keepLocks>>, "renew" | "release">;

/** Says of a run which one it is. */
const OWNER = "owner.json";

/**
 * Whose locks are: a run's, which never acts twice at once. Two hosts may have one name, and two runs one path, one
 * after the other; so a run has an id of its own. It goes with the folder itself: a copy gets another one, as both
 * may act. So does a run that was moved to another disk, which waits until the locks that it died with run out.
 *
 * @param agent the host whose agent it is, for people
 */
async function ownerOf(run: RunFolder, agent: string | undefined) {
  const note = await readNote(run, OWNER);
  const marks = await folderMarks(run);
  const said = isObject(note) ? note : {};
  const isOwn =
    said.folder === marks.folder && (said.born ?? marks.born) === (marks.born ?? said.born);
  const known = isOwn && typeof said.id === "string" && isUuid(said.id) ? said.id : null;
  const id = known ?? randomUUID();
  if (known === null || said.born !== marks.born) await writeNote(run, OWNER, { id, ...marks });
  const who = agent === undefined ? `nova2ironic on ${hostname()}` : `agent of ${agent}`;
  return { owner: `${who}, run ${id}`.slice(-255), again: `run ${id}` };
}

/**
 * Tells a folder from its copies: its inode is another's on the next disk, or after it was removed; hosts are told by
 * more than their names, which images share.
 */
async function folderMarks({ path }: RunFolder) {
  const { dev, ino, birthtimeNs, ctimeNs } = await stat(path, { bigint: true });
  const machine = await readFile("/etc/machine-id", "utf8").catch(() => "");
  return {
    folder: [hostname(), machine.trim(), dev, ino].join(" "),
    // Where a disk does not keep it, the time of the last change stands in its place.
    born: birthtimeNs === 0n || birthtimeNs === ctimeNs ? null : String(birthtimeNs),
  };
}

/** Locks that are renewed by themselves, and looked at before each step. */
async function heldFor(
  { leases }: LegacyPlace,
  owner: Awaited<ReturnType<typeof ownerOf>>,
  resources: Parameters<typeof keepLocks>[1],
): Promise<Locks> {
  const held = await keepLocks(leases, resources, { ...owner, ttl: TTL });
  let since = performance.now();
  return {
    async renew() {
      if (performance.now() - since < RENEW) return;
      await held.renew();
      since = performance.now();
    },
    release: held.release,
  };
}

interface LegacySession {
  readonly session: RunSession;
  readonly hands: LegacyHands;
  readonly target: NovaTarget;
}

/** How claims are made. */
export interface Claiming {
  /** Hosts that are locked for the time of it. */
  readonly hosts: readonly string[];
  /** Milliseconds without a heartbeat that a machine must have when it is taken over. */
  readonly silent?: number | undefined;
  /** The host whose agent claims them. */
  readonly agent?: string | undefined;
  /** No machine is begun once it is aborted; its reason is a MigrationError. */
  readonly signal?: AbortSignal | undefined;
  /** Hears of each that came to its new host, before its end is written down: who dies between tells it again. */
  readonly came?: (move: LegacyMove) => Promise<void>;
}

const NOBODY = (): Promise<void> => Promise.resolve();

/**
 * Nova and nova_bm of these plans, with the locks of the hosts.
 *
 * @throws MigrationError N2I-E362 when another has one, N2I-E300 for other databases than the plans'
 */
export async function withLegacy<T>(
  run: RunFolder,
  place: LegacyPlace,
  plans: readonly Pick<MovePlan, "manifest">[],
  claiming: Claiming,
  work: (legacy: LegacySession) => Promise<T>,
): Promise<T> {
  for (const { manifest } of plans) {
    checkNova(manifest.target, place.identity);
    checkSource(manifest.nova_bm, place);
  }
  const names = [...new Set(claiming.hosts)].map((name) => ({ kind: "host" as const, name }));
  const owner = await ownerOf(run, claiming.agent);
  const locks = await heldFor(place, owner, names);
  try {
    return await withSession(run, async (session) => {
      await session.begin("nova", place.identity);
      await session.begin("nova_bm", place.source);
      const target = createNovaTarget(place.database, place.identity, failpoint);
      const hands = handsOf(place, target, { ...claiming, owner, locks });
      return work({ session, hands, target });
    });
  } finally {
    await place.boots.tidy();
    await locks.release();
  }
}

interface Handy extends Claiming {
  readonly owner: Awaited<ReturnType<typeof ownerOf>>;
  /** Of the hosts. */
  readonly locks: Locks;
}

function handsOf(
  place: LegacyPlace,
  nova: NovaTarget,
  { owner, locks, silent, agent, signal, came = NOBODY }: Handy,
): LegacyHands {
  const { leases } = place;
  const quiet = silent === undefined ? {} : { silent };
  return {
    ...{ nova, came, look: place.look, ports: place.ports, files: place.boots.files },
    services: () => readComputeHosts(place.database),
    claim: (seen, to, prev) =>
      claimNode(leases, seen, { to, prev, ...quiet, ...(agent === to && { unfenced: agent }) }),
    release: (seen, state) => releaseNode(leases, seen, state),
    async holding({ uuid, tenant }, work) {
      signal?.throwIfAborted();
      const instance = tenant === null ? [] : [{ kind: "instance" as const, uuid: tenant.uuid }];
      const wanted = [{ kind: "node" as const, uuid }, ...instance];
      const own = await heldFor(place, owner, wanted).catch((cause: unknown) => {
        if (cause instanceof MigrationError && cause.code === "N2I-E362") return cause.message;
        throw cause;
      });
      if (typeof own === "string") return own;
      try {
        return await work(async (point) => {
          await failpoint(point);
          await locks.renew();
          await own.renew();
        });
      } finally {
        await own.release();
      }
    },
  };
}

/** What became of machines. */
interface LegacyMoved {
  /** Moved now, and found so. */
  readonly made: number;
  readonly found: number;
  readonly left: readonly Left[];
  /** Of them those whose lock another has. */
  readonly locked: number;
  readonly stopped: boolean;
}

/**
 * Takes machines to their new hosts, one after the other.
 *
 * @param check runs before each is begun
 * @throws MigrationError N2I-E301 when it stops midway
 */
export async function moveMachines(
  { session, hands }: LegacySession,
  machines: () => AsyncIterable<readonly LegacyMachine[]>,
  check: () => Promise<void>,
  progress: (machines: number) => void,
): Promise<LegacyMoved> {
  const counts = { made: 0, found: 0 };
  let locked = 0;
  const left: Left[] = [];
  const holding: LegacyHands["holding"] = async (move, work) => {
    await check();
    return hands.holding(move, work);
  };
  const part = legacyPart({ ...hands, holding }, wayThere);
  const leg = { part, command: "host move", changes: machines, pace: ONE_BY_ONE };
  const { stopped, broke } = await windowForward(leg, session, (ending) => {
    const { change, position, made, behind } = ending;
    if (position.is === "after") counts[made ? "made" : "found"] += 1;
    else left.push({ id: `machine:${change.id}`, why: position.why ?? position.is });
    if (position.is === "waiting") locked += 1;
    progress(behind);
  });
  if (broke !== null) throw broke;
  return { ...counts, left, locked, stopped };
}

/** @throws MigrationError N2I-E362 or N2I-E300 where none could be moved */
export function checkAny({ made, found, left, locked, stopped }: LegacyMoved): void {
  if (left.length === 0 || made + found > 0 || stopped) return;
  const whys = left.map(({ id, why }) => `${id}: ${why}`);
  const code = locked === left.length ? "N2I-E362" : "N2I-E300";
  throw new MigrationError(code, `nothing was moved: ${listed(whys, NAMED, "; ")}`);
}

/** Takes back what this run began, the last first, each as far as it came. @param leave hears of what stays */
export async function returnMachines(
  { session, hands }: LegacySession,
  machines: (ours: ReadonlyMap<string, Begun>) => readonly LegacyMachine[],
  leave: (rows: readonly Left[]) => void,
  progress: (machines: number) => void,
): Promise<{ readonly back: number; readonly left: number; readonly stopped: boolean }> {
  let [back, left] = [0, 0];
  const leg = {
    ...{ part: legacyPart(hands, wayBack), command: "rollback", pace: ONE_BY_ONE },
    async *changes(ours: ReadonlyMap<string, Begun>) {
      yield machines(ours);
    },
  };
  const { stopped, broke } = await windowBack(leg, session, ({ change, position, behind }) => {
    if (position.is === "after") back += 1;
    else {
      left += 1;
      leave([{ id: `machine:${change.id}`, why: position.why ?? position.is }]);
    }
    progress(behind);
  });
  if (broke !== null) throw broke;
  return { back, left, stopped };
}

/** Machines of a plan that move. */
export async function* machinesOf({ lines }: MovePlan): AsyncGenerator<readonly LegacyMachine[]> {
  for await (const batch of lines())
    yield batch.flatMap(({ uuid, verdict, legacy }) =>
      verdict === "move" && legacy !== undefined
        ? [{ id: uuid, move: legacy, computes: [], files: null, ports: [] }]
        : [],
    );
}
