import { digestOfAll } from "../edge/copy/fill.ts";
import { identify } from "../edge/database/identity.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import type { Rehearsal } from "../model/rehearsal.ts";
import type { ApplyWords } from "./apply.ts";
import { at, type CopyPlace, makeCopy } from "./rehearsal-copy.ts";
import { mayNot, type NovaCopies } from "./rehearsal-nova.ts";
import { DONE, type Gone, goTheWay } from "./rehearsal-way.ts";
import type { Sink } from "./sink.ts";
import { type Copies, surrounded, surroundings } from "./surroundings.ts";

/** A rehearsal, and where its copies go. */
export interface Rehearsing {
  /** Its own run. */
  readonly inner: RunFolder;
  readonly place: CopyPlace;
  readonly nova: NovaCopies;
  readonly words: Pick<
    ApplyWords,
    ("ironicDb" | "novaDb" | "novaApiDb") | ("skipBlocked" | "staged" | "powerMaxAge" | "keyFile")
  >;
  readonly machines: number;
}

/** Copies that were made. */
interface Copied {
  readonly places: readonly CopyPlace[];
  readonly rows: number;
  /** Why one of Nova's was not. */
  readonly why: string | null;
  readonly copy: Pick<Rehearsal, "copy" | "without">;
}

export interface Rehearsed extends Copied {
  readonly gone: Gone;
}

/**
 * Makes the copies, and goes the plan's way on them.
 *
 * @returns null when it was stopped on request
 */
export async function filled(
  made: Rehearsing,
  sink: Sink,
  signal: AbortSignal,
): Promise<Rehearsed | null> {
  const gone: Gone = { stages: [], refusals: [], loaded: null, asBefore: null, allowed: {} };
  const began = Date.now();
  const copied = await copiesOf(made, sink, signal);
  if (copied === null) return null;
  const seconds = (Date.now() - began) / 1000;
  const { rows, places } = copied;
  gone.stages.push({ stage: "copy", seconds, machines: 0, rows, rate: null, result: DONE });
  const copies = { databases: await standIns(places), flavors: new Map() };
  const went = await surrounded({ ...surroundings(), copies }, () =>
    goTheWay(jobOf(made, places, sink), gone),
  );
  return went ? { gone, ...copied } : null;
}

/** Ironic's, without which nothing is rehearsed, and Nova's as far as this login may make them. */
async function copiesOf(
  { inner, place, nova }: Rehearsing,
  sink: Sink,
  signal: AbortSignal,
): Promise<Copied | null> {
  const make = (from: CopyPlace) =>
    sink.during(
      from.role === "ironic-db" ? "rehearse: copy" : `rehearse: copy of --${from.role}`,
      undefined,
      (progress) => makeCopy(inner, from, signal, progress),
      (copy) => (copy === null ? "stopped" : `${copy.rows} rows, ${copy.how}`),
    );
  const first = await make(place);
  if (first === null) return null;
  const places = [place];
  const without = new Set(first.without === null ? [] : [first.without]);
  let [rows, why] = [first.rows, nova.why];
  for (const from of nova.places) {
    const copy = await make(from).catch((cause: unknown) => {
      why = mayNot(cause);
      return undefined;
    });
    if (copy === null) return null;
    if (copy === undefined) break;
    places.push(from);
    rows += copy.rows;
    if (copy.without !== null) without.add(copy.without);
  }
  const lacking = without.size === 0 ? null : [...without].join("; ");
  return { places, rows, why, copy: { copy: first.how, without: lacking } };
}

/** What is opened in place of what was copied. */
async function standIns(places: readonly CopyPlace[]): Promise<Copies["databases"]> {
  const databases = new Map<string, ReturnType<Copies["databases"]["get"]> & object>();
  for (const { role, source, address: copy } of places) {
    const { address, database, server } = await identify(source);
    databases.set(role, { address: copy, standsFor: { address, database, server } });
  }
  return databases;
}

function jobOf(
  { inner, words, machines }: Rehearsing,
  places: readonly CopyPlace[],
  sink: Sink,
): Parameters<typeof goTheWay>[0] {
  const { ironicDb, novaDb, novaApiDb, skipBlocked, staged, powerMaxAge, keyFile } = words;
  const has = (wanted: CopyPlace["role"]): boolean => places.some(({ role }) => role === wanted);
  const nova = has("nova-db");
  return {
    ...{ inner, machines, sink, flavorsApart: !has("nova-api-db") },
    words: {
      ...{ skipBlocked, staged, powerMaxAge, leaveNova: !nova },
      ...(ironicDb && { ironicDb }),
      ...(keyFile && { keyFile }),
      ...(nova && { ...(novaDb && { novaDb }), ...(novaApiDb && { novaApiDb }) }),
    },
    digest: async () => {
      const sums: string[] = [];
      for (const { address } of places) sums.push(await at(address, true, digestOfAll));
      return sums.join("\n");
    },
  };
}
