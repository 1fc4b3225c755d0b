import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ONE_BY_ONE, type Pace } from "../../../src/engine/window-part.ts";
import type { Progress } from "../../../src/run/sink.ts";
import { release } from "../../../src/window/handover/handover.ts";
import { holdsLater } from "../../support/seeded.ts";
import { CONDUCTOR, ironic } from "./world.ts";

const PACE: Pace = { ...ONE_BY_ONE, inFlight: null, deadline: 900_000, maxFailures: 1 };
/** A conductor's own periodic_max_workers. */
const WORKERS = 8;

interface Setting {
  readonly machines: number;
  readonly interval: number;
  readonly workers: number;
  /** The second of the first pass, one for each conductor. */
  readonly phases: readonly number[];
  /** Seconds from the first to the last machine of a pass. */
  readonly spread?: number;
  /** Seconds of the longest takeover. */
  readonly lasts?: number;
}

type World = ReturnType<typeof ironic>;
type Works = (world: World, hostname: string, uuid: string) => "taken" | "failed" | "stuck";

/** Conductors that take machines over as Ironic 2023.1 does: lowest ids first, so many in a pass. */
function conductors(
  { machines, interval, workers, phases, spread = 0, lasts = 0 }: Setting,
  works: Works = () => "taken",
) {
  const world = ironic(machines, { takes: Number.POSITIVE_INFINITY });
  const all = phases.map((_, at) => ({ ...CONDUCTOR, hostname: `c${at}` }));
  world.conductors(...all);
  const silent = new Set<string>();
  const share = (hostname: string): readonly string[] => {
    const ring = world.alive();
    // An even and arbitrary one, as of a hash ring.
    const at = (uuid: string): number => ((Number(uuid.slice(1)) * 7919) % 104_729) % ring.length;
    return world.waiting().filter((uuid) => ring[at(uuid)] === hostname);
  };
  const pass = (hostname: string, second: number): void => {
    const mine = silent.has(hostname) ? [] : share(hostname).slice(0, workers);
    for (const [at, uuid] of mine.entries()) {
      const became = works(world, hostname, uuid);
      if (became === "stuck") break;
      const values =
        became === "failed"
          ? { last_error: "no image", reservation: null }
          : { taker: { hostname, alive: true }, reservation: null };
      const later = second + (at * spread) / workers + ((at * 7) % 10) * (lasts / 9);
      world.change(uuid, { reservation: hostname });
      world.at(later, () => world.change(uuid, values));
    }
    world.at(second + interval, () => pass(hostname, second + interval));
  };
  for (const [at, { hostname }] of all.entries())
    world.at(phases[at] ?? 0, () => pass(hostname, phases[at] ?? 0));
  return {
    ...{ world, all, silent },
    run: (pace: Partial<Pace> = {}, progress: Progress = () => undefined) =>
      release("forward", world.plan(), { ...world.releasing(), progress }, { ...PACE, ...pace }),
  };
}

test("as many are released as the conductors take in a pass, whatever their settings", async () => {
  const settings = fc.record({
    machines: fc.integer({ min: 1, max: 300 }),
    interval: fc.integer({ min: 5, max: 60 }),
    workers: fc.integer({ min: 4, max: 80 }),
    phases: fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 4 }),
    late: fc.nat(3),
    // A slow Glance or Neutron makes takeovers last longer than passes.
    lasts: fc.constantFrom(0, 1, 25, 60),
  });
  await holdsLater(20, settings, async ({ late, phases, ...given }) => {
    const { machines, interval, workers } = given;
    const first = phases.map((phase) => phase % interval);
    const spread = Math.min(late, interval - 4);
    const { world, run } = conductors({ ...given, phases: first, spread });
    const { done, trouble } = await run();
    assert.deepEqual([done, trouble], [machines, []]);
    const all = phases.length * Math.max(WORKERS, workers);
    assert.ok(world.most() <= 2 * all, `${world.most()} stood released`);
    // Doubled from eight to what they take, and a ring that is not quite even.
    const growing = Math.max(0, Math.ceil(Math.log2(workers / WORKERS)));
    const passes = 1.25 * Math.ceil(machines / (phases.length * workers)) + growing + 3;
    const most = passes * (interval + 3) + given.lasts;
    assert.ok(world.now() <= most * 1000, `${world.now()} ms, ${passes}`);
  });
});

test("with tuned conductors the hand-over takes minutes, and with those as shipped no more stand released", async () => {
  const tuned = conductors({ machines: 200, interval: 10, workers: 40, phases: [9] });
  await tuned.run();
  assert.ok(tuned.world.now() <= 90_000, `${tuned.world.now()} ms`);
  const shipped = conductors({ machines: 40, interval: 180, workers: 8, phases: [100] });
  await shipped.run();
  assert.equal(shipped.world.most(), 16);
  assert.ok(shipped.world.now() <= (100 + 4 * 180 + 2) * 1000, `${shipped.world.now()} ms`);
});

test("a conductor that dies midway loses no machine, and those that live go on at their rate", async () => {
  // The second dies after its pass began, is known to be dead a minute later, and is started again.
  const many = { machines: 300, interval: 10, workers: 20, phases: [2, 7] };
  const { world, all, silent, run } = conductors(many);
  const [first, second] = all;
  assert.ok(first !== undefined && second !== undefined);
  world.at(33, () => void silent.add("c1"));
  world.at(93, () => world.conductors(first, { ...second, alive: false }));
  world.at(150, () => {
    silent.delete("c1");
    world.conductors(first, second);
  });
  const { done, trouble, notices } = await run();
  assert.deepEqual([done, trouble], [300, []]);
  assert.deepEqual(notices, ["conductor c1 died", "conductor c1 is alive"]);
  assert.ok(world.most() <= 2 * 2 * 20, `${world.most()}`);
  assert.ok(world.now() <= 240_000, `${world.now()} ms`);
});

test("a machine that fails, or that keeps all others from being taken over, ends the growth", async () => {
  const many = { machines: 300, interval: 10, workers: 80, phases: [5] };
  const fails = conductors(many, (_, __, uuid) => (uuid === "n9" ? "failed" : "taken"));
  const failed = await fails.run();
  assert.deepEqual([failed.made, failed.done, failed.trouble.length], [40, 39, 1]);
  const eighth: Works = (_, __, uuid) => (Number(uuid.slice(1)) % 8 ? "taken" : "failed");
  const tolerant = conductors(many, eighth);
  const some = await tolerant.run({ maxFailures: 100 });
  assert.deepEqual([some.done, some.trouble.length], [263, 37]);
  // Failed ones stay released, and eight others.
  assert.ok(tolerant.world.most() <= 37 + 8, `${tolerant.world.most()}`);
  // An interface that no conductor enables ends each pass with a trace.
  const stuck = conductors(many, (_, __, uuid) => (uuid === "n1" ? "stuck" : "taken"));
  const { made, done } = await stuck.run();
  assert.deepEqual([made, done, stuck.world.most()], [8, 0, 8]);
  const later = conductors(many, (_, __, uuid) => (uuid === "n30" ? "stuck" : "taken"));
  assert.equal((await later.run()).done, 29);
  assert.equal(later.world.most(), 32);
});

test("the rate is that of recent passes, and is not known before the second", async () => {
  const { world, run } = conductors({ machines: 300, interval: 10, workers: 20, phases: [5] });
  const seen: { readonly second: number; readonly rate: number | null | undefined }[] = [];
  const { perMinute } = await run({}, (_, __, rate) => {
    const second = world.now() / 1000;
    if (seen.at(-1)?.second !== second) seen.push({ second, rate });
  });
  const first = seen.findIndex(({ rate }) => rate !== null);
  assert.ok(first === 1 && (seen[first]?.second ?? 0) >= 15, JSON.stringify(seen.slice(0, 3)));
  for (const { rate } of seen.slice(-5)) assert.equal(rate, 2);
  assert.ok(Math.abs((perMinute ?? 0) - 300 / (world.now() / 60_000)) < 1, `${perMinute}`);
});
