import { randomUUID } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { hostname } from "node:os";
import type { Direction } from "../../engine/part.ts";
import { runWindow } from "../../engine/window.ts";
import { ONE_BY_ONE } from "../../engine/window-part.ts";
import { MigrationError, orMessage } from "../../lib/error.ts";
import { isObject } from "../../lib/json.ts";
import { listed, NAMES } from "../../lib/text.ts";
import { isUuid } from "../../lib/uuid.ts";
import { checkNova } from "../../migrate/hosts/nova-target.ts";
import type { SkippedRow } from "../../model/change.ts";
import { differences } from "../../model/database.ts";
import { failpoint } from "../../run/failpoint.ts";
import { type RunFolder, readNote, writeNote } from "../../run/files/run-folder.ts";
import type { MovePlan } from "../../run/host-files.ts";
import { withSession } from "../../run/session.ts";
import { createNovaTarget } from "../../systems/nova-db/target.ts";
import { keepLocks } from "../leases/locks.ts";
import { backTransition, forwardTransition } from "../rules/legacy-states.ts";
import type { LegacyClients } from "./legacy-clients.ts";
import { type LegacyDeps, legacyPart } from "./steps/legacy-move.ts";
import type { LegacyMachine } from "./steps/legacy-started.ts";

/** Milliseconds until an unrenewed lock expires. */
const TTL = 60_000;
/** Milliseconds after which the locks are checked before a step. */
const RENEW = TTL / 6;

const OWNER = "owner.json";

/**
 * The owner of locks is the id of a run, because host names and paths repeat. A copy, or a run
 * moved to another disk, gets a new id, because both copies may act; it waits until its old locks
 * expire.
 *
 * @param agent the host of the agent, for messages
 */
async function ownerOf(run: RunFolder, agent: string | undefined) {
  const note = await readNote(run, OWNER);
  const marks = await folderMarks(run);
  const saved = isObject(note) ? note : {};
  const isSameFolder =
    saved.folder === marks.folder && (saved.born ?? marks.born) === (marks.born ?? saved.born);
  const oldId = isSameFolder && typeof saved.id === "string" && isUuid(saved.id) ? saved.id : null;
  const id = oldId ?? randomUUID();
  if (oldId === null || saved.born !== marks.born) await writeNote(run, OWNER, { id, ...marks });
  const who = agent === undefined ? `nova2ironic on ${hostname()}` : `agent of ${agent}`;
  return { owner: `${who}, run ${id}`.slice(-255), again: `run ${id}`, ttl: TTL };
}

/** Several values, because inodes repeat on other disks, and images share host names. */
async function folderMarks({ path }: RunFolder) {
  const { dev, ino, birthtimeNs, ctimeNs } = await stat(path, { bigint: true });
  const machine = await readFile("/etc/machine-id", "utf8").catch(() => "");
  return {
    folder: [hostname(), machine.trim(), dev, ino].join(" "),
    // Some file systems return the time of the last change instead.
    born: birthtimeNs === 0n || birthtimeNs === ctimeNs ? null : String(birthtimeNs),
  };
}

export interface Claiming extends Partial<Pick<LegacyDeps, "onMoved">> {
  readonly hosts: readonly string[];
  /** Minimum milliseconds without a heartbeat of a machine. */
  readonly silent?: number | undefined;
  /** The host whose agent claims the machines; absent: an operator. */
  readonly agent?: string | undefined;
  /** If aborted, no further machine is started. Its reason is a MigrationError. */
  readonly signal?: AbortSignal | undefined;
}

/** @throws MigrationError N2I-E362 if another process has a lock, N2I-E300 for other databases */
export async function withLegacy<T>(
  run: RunFolder,
  clients: LegacyClients,
  plans: readonly MovePlan[],
  claiming: Claiming,
  work: (deps: LegacyDeps) => Promise<T>,
): Promise<T> {
  for (const { manifest } of plans) {
    checkNova(manifest.target, clients.identity);
    const { nova_bm: planned } = manifest;
    const changed =
      planned === undefined ? ["it has none"] : differences(planned, clients.source, []);
    const reason = `the plan was made for a different nova_bm: ${changed.join("; ")}`;
    if (changed.length > 0) throw new MigrationError("N2I-E300", reason);
  }
  const names = claiming.hosts.map((name) => `host:${name}`).toSorted();
  const owner = await ownerOf(run, claiming.agent);
  const locks = await keepLocks(clients.leases, names, owner);
  let since = performance.now();
  const withLock: LegacyDeps["withLock"] = async ({ uuid, tenant }, move) => {
    claiming.signal?.throwIfAborted();
    const instance = tenant === null ? [] : [`instance:${tenant.uuid.toLowerCase()}`];
    const resources = [`node:${uuid.toLowerCase()}`, ...instance];
    const acquired = await orMessage(keepLocks(clients.leases, resources, owner), "N2I-E362");
    if (typeof acquired === "string") return acquired;
    try {
      return await move(async (point) => {
        await failpoint(point);
        const now = performance.now();
        if (now - since < RENEW) return;
        await locks.renew();
        await acquired.renew();
        since = now;
      });
    } finally {
      await acquired.release();
    }
  };
  try {
    return await withSession(run, async (session) => {
      await session.begin("nova", clients.identity);
      await session.begin("nova_bm", clients.source);
      const nova = createNovaTarget(clients.database, clients.identity, failpoint);
      const { onMoved = () => Promise.resolve() } = claiming;
      return work({ ...clients, session, nova, claiming, onMoved, withLock });
    });
  } finally {
    await clients.boots.tidy();
    await locks.release();
  }
}

type LegacyMoved = Awaited<ReturnType<typeof runMachines>>;

interface Running {
  /** Runs before each machine. */
  readonly check?: () => Promise<void>;
  /** Receives the conflicts, which are also in the result. */
  readonly skip?: (row: SkippedRow) => void;
  readonly progress?: (machines: number) => void;
}

/**
 * Moves or returns machines one at a time.
 *
 * @throws MigrationError N2I-E301 if it stops during a machine
 */
export async function runMachines(
  deps: LegacyDeps,
  direction: Direction,
  machines: AsyncIterable<readonly LegacyMachine[]>,
  { check = () => Promise.resolve(), skip, progress }: Running = {},
) {
  const isBack = direction === "back";
  const part = legacyPart(deps, isBack ? backTransition : forwardTransition, check);
  const command = isBack ? "rollback" : "host move";
  const skipped: SkippedRow[] = [];
  /** Changed now, and changed before. */
  const counts = { made: 0, found: 0, locked: 0 };
  const { stopped, broke } = await runWindow(
    direction,
    { part, command, changes: () => machines, pace: ONE_BY_ONE },
    deps.session,
    ({ change, position: { is, reason }, made, completed }) => {
      const row = { id: `machine:${change.id}`, reason: reason ?? is };
      if (is === "after") counts[made ? "made" : "found"] += 1;
      else {
        skipped.push(row);
        skip?.(row);
      }
      if (is === "waiting") counts.locked += 1;
      progress?.(completed);
    },
  );
  if (broke !== null) throw broke;
  return { ...counts, skipped, stopped };
}

/** @throws MigrationError N2I-E362 or N2I-E300 if no machine was moved */
export function checkAny({ made, found, skipped, locked, stopped }: LegacyMoved): void {
  if (skipped.length === 0 || made + found > 0 || stopped) return;
  const whys = skipped.map(({ id, reason }) => `${id}: ${reason}`);
  const code = locked === skipped.length ? "N2I-E362" : "N2I-E300";
  throw new MigrationError(code, `nothing was moved: ${listed(whys, NAMES, "; ")}`);
}

export async function* machinesOf({ lines }: MovePlan): AsyncGenerator<readonly LegacyMachine[]> {
  for await (const batch of lines())
    yield batch.flatMap(({ uuid, verdict, legacy }) =>
      verdict === "move" && legacy !== undefined
        ? [{ id: uuid, move: legacy, computes: [], files: null, ports: [] }]
        : [],
    );
}
