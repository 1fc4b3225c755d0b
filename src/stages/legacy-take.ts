import { readJournal } from "../edge/disk/journal.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { readLeases } from "../edge/leases/leases.ts";
import { begunIn } from "../engine/begun.ts";
import type { Left } from "../model/change.ts";
import { MigrationError } from "../model/error.ts";
import { begunMachines, LEGACY, type LegacyMachine } from "../parts/legacy-move.ts";
import type { Taken } from "./agent-round.ts";
import { openMovePlan } from "./host-files.ts";
import { performLegacy } from "./legacy-move.ts";
import { machinesOf, moveMachines, withLegacy } from "./legacy-moves.ts";
import type { LegacyPlace } from "./legacy-place.ts";
import { makeLegacy } from "./legacy-plan.ts";
import { sayPorts } from "./legacy-ports.ts";
import type { Sink } from "./sink.ts";

/** Machines of a host whose lease is fenced, and who takes them. */
interface TakeAsked {
  readonly from: string;
  readonly to: string;
  /** bm_nodes.uuid. */
  readonly nodes: readonly string[];
  /** Seconds without a report after which a nova-compute is down. */
  readonly down: number;
}

/** Its host is fenced by its lease. */
const MODE = { mode: "takeover", fences: false } as const;

interface TakenHere extends Taken {
  readonly stopped: boolean;
}

/**
 * Takes machines of a fenced host over, and nobody is asked: goes on with those that this run left under
 * way, then plans and moves the rest.
 *
 * @param run held by the caller
 * @throws MigrationError N2I-E316 where the lease is not fenced, N2I-E362 when another has a host's lock
 */
export async function takeMachines(
  run: RunFolder,
  place: LegacyPlace,
  { from, to, nodes, down }: TakeAsked,
  { say }: Pick<Sink, "say">,
): Promise<TakenHere> {
  const [lease] = await readLeases(place.leases, from);
  const unfenced = new MigrationError("N2I-E316", `the lease of ${from} is not fenced`);
  if (lease === undefined) throw unfenced;
  const silent = lease.ttl;
  // What is this host's by now goes on, also where its old one was let back meanwhile.
  const gone = await goOn(run, place, { from, to, silent }, say);
  await sayPorts(place, gone.machines(), say);
  const asked = new Set([...nodes.map((uuid) => uuid.toLowerCase()), ...gone.unclaimed]);
  const rest = [...asked].filter((uuid) => !gone.done.has(uuid));
  if (rest.length === 0 || gone.stopped)
    return { moved: gone.done.size, left: gone.left, stopped: gone.stopped };
  if (lease.fenced_by === null) throw unfenced;
  const words = { run: run.path, node: rest, to: [to], serviceDownTime: down };
  const made = await makeLegacy(run, place, MODE, words, quietly(say));
  const plan = await openMovePlan(made.path);
  const told: Left[] = [];
  for await (const batch of plan.lines())
    for (const { uuid, verdict, findings, legacy } of batch) {
      // One that ends in error went, and has to be told all the same.
      if (verdict !== "blocked" && legacy?.after === legacy?.before) continue;
      const whys = findings.map(({ code, place: at, message }) => `${code} ${at}: ${message}`);
      told.push({ id: `machine:${uuid}`, why: whys.join("; ") });
    }
  const none = { made: 0, found: 0, left: [], locked: 0, stopped: false };
  const moved =
    made.manifest.counts.verdicts.move === 0
      ? none
      : await performLegacy(run, place, plan, quietly(say), { silent, agent: to }).finally(() =>
          // Of those that are there, whatever kept the others: no later round is about them.
          sayPorts(place, machinesOf(plan), say).catch(() => undefined),
        );
  return {
    moved: gone.done.size + moved.made + moved.found,
    left: [...gone.left, ...told, ...moved.left],
    stopped: moved.stopped,
  };
}

/**
 * Machines that this run claimed, and died over. One that the host owns still is none of them: it is looked at
 * anew, as the host may live by now.
 */
async function goOn(
  run: RunFolder,
  place: LegacyPlace,
  { from, to, silent }: Pick<TakeAsked, "from" | "to"> & { readonly silent: number },
  say: (text: string) => void,
) {
  const { entries } = await readJournal(run);
  const open = new Set(
    [...begunIn(entries, LEGACY)].filter(([, { open }]) => open).map(([id]) => id),
  );
  const none: readonly Left[] = [];
  const nothing = {
    ...{ done: new Set<string>(), left: none, stopped: false },
    machines: () => once<LegacyMachine>([]),
  };
  if (open.size === 0) return { ...nothing, unclaimed: [] };
  const begun = begunMachines(begunIn(entries, LEGACY)).filter(({ id }) => open.has(id));
  const now = await place.look(begun.map(({ move }) => move));
  const isLeft = (at: number): boolean => now[at]?.node?.service_host === from;
  const unclaimed = begun.filter((_machine, at) => isLeft(at)).map(({ id }) => id.toLowerCase());
  const machines = begun.filter((_machine, at) => !isLeft(at));
  if (machines.length === 0) return { ...nothing, unclaimed };
  say(`${machines.length} machines are under way since this run was stopped: they go on.`);
  const hosts = machines.flatMap(({ move }) => [move.from, move.to]);
  const how = { hosts, silent, agent: to };
  const { left, stopped } = await withLegacy(run, place, [], how, (legacy) =>
    moveMachines(
      legacy,
      () => once(machines),
      // They are this host's, whatever their old one does.
      () => Promise.resolve(),
      () => undefined,
    ),
  );
  const stayed = new Set(left.map(({ id }) => id));
  const done = machines.filter(({ id }) => !stayed.has(`machine:${id}`));
  return {
    ...{ done: new Set(done.map(({ id }) => id.toLowerCase())), unclaimed, left, stopped },
    machines: () => once(done),
  };
}

async function* once<T>(items: readonly T[]): AsyncGenerator<readonly T[]> {
  yield items;
}

/** No progress is shown: nobody looks. */
function quietly(say: (text: string) => void): Pick<Sink, "say" | "during"> {
  return {
    say,
    during: (_title, _machines, work) =>
      work(
        () => undefined,
        () => undefined,
      ),
  };
}
