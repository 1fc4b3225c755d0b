import type { TestContext } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { WindowSession } from "../../src/engine/window.ts";
import { loadMappings } from "../../src/migrate/open/documents.ts";
import type { SkippedRow } from "../../src/model/change.ts";
import { readJournal } from "../../src/run/files/journal.ts";
import { openRun } from "../../src/run/files/run-folder.ts";
import { runBy } from "../../src/run/session.ts";
import {
  type Fenced,
  SWITCH_MARK,
  type Switchover,
  type SwitchStepName,
} from "../../src/switchover/rules/switching.ts";
import type { SwitchNova } from "../../src/switchover/steps/switch-part.ts";
import { runBack, runForward, switchAt } from "../../src/switchover/switchover-execute.ts";
import { faultsOf } from "../../src/switchover/switchover-perform.ts";
import { switchedIn } from "../../src/switchover/switchover-run.ts";
import { openService } from "../../src/systems/ironic-api/service.ts";
import { cloudOf } from "../../src/systems/openstack/cloud.ts";
import { pauseShorter } from "../../src/systems/openstack/passing.ts";
import { during } from "../engine/on-journal.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { uuidOf } from "../manage/in-memory.ts";
import { addPair, SOURCE, SPARE, switchable } from "./switch-memory.ts";

type Halted = Awaited<ReturnType<typeof runForward>>;

const LIMIT = 5000;

export const PLAN: Switchover = {
  ...{ id: uuidOf(7, 1), source: SOURCE, destination: SPARE, instance_uuid: uuidOf(9, 1) },
  ...{ source_name: "n-1", destination_name: "s-1", failed_name: "n-1-failed" },
  ...{ leave_nova: false, picked: false, server: null },
  connectors: [uuidOf(6, 1)],
  targets: [uuidOf(5, 1), uuidOf(5, 2)],
};

export async function scene(t: TestContext) {
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  const cloud = await switchable(t);
  addPair(cloud);
  const { releases, rest } = await loadMappings();
  const place = cloudOf(new Map([["endpoint", cloud.ironic]]), "OS_*");
  const service = await openService(place, releases, rest, undefined, LIMIT);
  t.after(service.session.close);
  return { cloud, service, run: await openRun(privateFolder(t), { create: true }) };
}

export type Scene = Awaited<ReturnType<typeof scene>> & { readonly nova?: SwitchNova | undefined };

interface PowerMethod {
  readonly plan?: Switchover;
  /** Entries of the journal until it dies. */
  readonly lines?: number;
  /** It dies when this step is about to begin. */
  readonly until?: SwitchStepName;
  readonly fence?: Fenced;
  /** Somebody asks to stop once this step began. */
  readonly stopAt?: string;
}

/** A second passes whenever somebody looks. */
function clock(): () => number {
  let now = 0;
  return () => (now += 1000);
}

/** The same for every command of this process, until the test ends. */
export function hurried(t: Pick<TestContext, "after">): void {
  pauseShorter(0);
  runBy({ now: clock(), sleep: () => turn() });
  t.after(() => {
    pauseShorter(1);
    runBy(null);
  });
}

/** Lines of the journal before the spare is deployed: a beginning and an end for each step. */
export const CLAIMED = 19;

export const SAID: Fenced = { proof: "--source-confirmed-off", by: "somebody" };

const times = { soft: 600_000, interval: 5000, proof: 20_000 };

export async function forward(
  { service, run, nova }: Scene,
  { plan = PLAN, lines, until, fence, stopAt }: PowerMethod = {},
) {
  let halted = null as Halted;
  const states: string[] = [];
  await during(
    run,
    async (given) => {
      let isRequested = false;
      const append: typeof given.journal.append = (entry) => {
        if (entry.do === "start" && entry.part === stopAt) isRequested = true;
        return entry.do === "start" && entry.part === until
          ? Promise.reject(new Error("died"))
          : given.journal.append(entry);
      };
      const journal = { ...given.journal, append };
      const session = { ...given, stopping: () => isRequested, journal };
      const at = atOf({ service, nova }, plan, session);
      const fenced = async (): Promise<Fenced | null> => Promise.resolve(fence ?? null);
      halted = await runForward(at, session, (state) => states.push(state), fenced);
    },
    lines,
  );
  return { halted, why: halted?.position?.reasons.join() ?? "", states };
}

type Services = Pick<Scene, "service" | "nova">;

function atOf({ service, nova }: Services, plan: Switchover, { journal }: WindowSession) {
  const how = { times, now: clock(), nova: nova ?? null };
  return switchAt(service, plan, journal.entries, how);
}

export async function back(
  { service, run, nova }: Scene,
  lines?: number,
  fence: Fenced | null = null,
): Promise<readonly string[]> {
  let left: readonly SkippedRow[] = [];
  await during(
    run,
    async (session) => {
      const plan = switchedIn(session.journal.entries())?.plan;
      if (plan === undefined) return;
      const at = atOf({ service, nova }, plan, session);
      left = (await runBack(at, session, () => Promise.resolve(fence))).skipped;
    },
    lines,
  );
  return left.map(({ reason: why }) => why);
}

export async function faults({ service, run, nova }: Scene): Promise<readonly string[]> {
  const { entries } = await readJournal(run);
  const plan = switchedIn(entries)?.plan ?? PLAN;
  const at = switchAt(service, plan, () => entries, { nova: nova ?? null });
  return (await faultsOf(at)).flatMap(([what, why]) => (why === null ? [] : [`${what}: ${why}`]));
}

/** What a rollback says last, where it leaves something. */
export function marksStay(...nodes: readonly string[]): string {
  return `the mark is still on ${nodes.join(" and ")}: run rollback again, or remove it with openstack baremetal node unset UUID --extra ${SWITCH_MARK}`;
}
