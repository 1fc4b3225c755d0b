import { askAll, type Schedule } from "../../../src/lib/ipmi/index.ts";
import {
  blank,
  type PowerProbe,
  type PowerQuestion,
  type PowerReading,
} from "../../../src/model/power.ts";
import { simClock } from "./sim.ts";

interface Play {
  readonly schedule?: Partial<Schedule>;
  /** Milliseconds for each BMC. */
  readonly took?: number | ((id: number, deadline: number) => number);
  readonly answer?: (id: number, time: number) => Partial<PowerReading>;
  readonly signal?: AbortSignal;
  readonly each?: (reading: PowerReading) => void;
}

export async function play(
  what: number | readonly PowerQuestion[],
  { schedule, took = 20, answer, signal, each }: Play = {},
  leaveAfter = Infinity,
) {
  const clock = simClock();
  const starts: { readonly id: number; readonly at: number; readonly bmc: string }[] = [];
  const seen = { starts, most: 0, now: 0 };
  const probe: PowerProbe = (asked, { signal: stopped, deadline }) => {
    const id = asked.bm_node_ids[0] ?? -1;
    seen.starts.push({ id, at: clock.now(), bmc: asked.address });
    seen.now += 1;
    seen.most = Math.max(seen.most, seen.now);
    return new Promise<PowerReading>((resolve, reject) => {
      const time = typeof took === "number" ? took : took(id, deadline);
      const cancel = clock.after(time, () => {
        try {
          const begun = { date: clock.date(), client: "native" as const };
          const fields = blank(asked, begun, { verdict: "ok", detail: "played" });
          resolve({ ...fields, ...answer?.(id, clock.now()) });
        } catch (error) {
          reject(error);
        }
      });
      stopped.addEventListener("abort", () => {
        cancel();
        reject(stopped.reason);
      });
    }).finally(() => {
      seen.now -= 1;
    });
  };
  const questions = typeof what === "number" ? range(what).map(question) : what;
  const readings: PowerReading[] = [];
  const work = async (): Promise<void> => {
    const options = {
      clock,
      signal: signal ?? new AbortController().signal,
      ...(schedule && { schedule }),
      ...(each && { failed: (told: Reporting) => each(ofAll(told)) }),
    };
    for await (const told of askAll(stream(questions), { ...options, ask: probe })) {
      readings.push(ofAll(told));
      if (readings.length >= leaveAfter) break;
    }
  };
  await clock.run(work());
  return { readings, seen, clock };
}

type Reporting = { readonly targets: readonly PowerQuestion[]; readonly reading: PowerReading };

function ofAll({ targets, reading }: Reporting): PowerReading {
  return { ...reading, bm_node_ids: targets.flatMap(({ bm_node_ids }) => bm_node_ids) };
}

export async function* stream(questions: readonly PowerQuestion[]): AsyncGenerator<PowerQuestion> {
  yield* questions;
}

export function question(id: number): PowerQuestion {
  const address = `10.9.${id >> 8}.${id & 255}`;
  return { bm_node_ids: [id], address, user: "admin", password: () => "throwaway" };
}

export function range(length: number): number[] {
  return Array.from({ length }, (_, at) => at);
}

export function byNumber(one: number, other: number): number {
  return one - other;
}
