import { join, type Moment, split } from "./moment.ts";
import { index, pack } from "./packed.ts";
import type { KnownReadings, PowerReading } from "./power.ts";

/** Readings of a fleet's BMCs, a hundred bytes or two each; one is made anew whenever it is asked for. */
export interface PackedReadings extends KnownReadings {
  readonly put: (reading: PowerReading) => void;
  /** One for each machine, in the order in which they were put first. */
  readonly values: () => Iterable<PowerReading>;
}

/** What hardly two readings have in common; the rest is one object for all that are alike but for it. */
interface Line extends Moment {
  readonly id: number;
  readonly address: string;
  /** What the question was made of, but for the address it begins with. */
  readonly words: string | null;
  readonly digest: string | null;
  readonly elapsed: number;
  readonly rest: PowerReading;
}

/** A reading may be of several machines behind one BMC; of two readings of a machine the later one counts. */
export function packReadings(): PackedReadings {
  const [word, short] = ["word", "short"] as const;
  const lines = pack<Line>({
    ...{ id: "number", address: short, words: word, digest: short },
    ...{ minute: word, ms: "number", elapsed: "number", rest: word },
  });
  /** By machine, from the first on that is not of one machine that comes after those before it. */
  let places: Map<number, number> | null = null;
  let last = Number.NEGATIVE_INFINITY;
  const alike = new Map<string, PowerReading>();
  const restOf = (reading: PowerReading): PowerReading => {
    const text = JSON.stringify(reading);
    const known = alike.get(text) ?? reading;
    alike.set(text, known);
    return known;
  };
  const placesSoFar = (): Map<number, number> => {
    const found = new Map<number, number>();
    for (const { id } of lines) found.set(id, found.size);
    return found;
  };
  const lineOfMachine = (id: number): Line | undefined =>
    places === null ? index(lines, "id")(id)[0] : lines.at(places.get(id) ?? -1);
  return {
    put(reading) {
      const { bm_node_ids: ids } = reading;
      const [id = Number.NaN] = ids;
      if (ids.length !== 1 || !(id > last)) places ??= placesSoFar();
      last = id;
      if (places !== null) for (const each of ids) places.set(each, lines.length);
      lines.put(lineOf(reading, restOf));
    },
    get(id) {
      const line = lineOfMachine(id);
      return line && readingOf(line);
    },
    *values() {
      if (places === null) for (const line of lines) yield readingOf(line);
      for (const place of places?.values() ?? []) {
        const line = lines.at(place);
        if (line !== undefined) yield readingOf(line);
      }
    },
  };
}

function lineOf(reading: PowerReading, restOf: (rest: PowerReading) => PowerReading): Line {
  const { bm_node_ids, address, asked, asked_at, elapsed } = reading;
  const [id = Number.NaN, ...others] = bm_node_ids;
  const [digest = null, ...digests] = asked?.machines ?? [];
  const words =
    asked?.words.startsWith(address) === true ? asked.words.slice(address.length) : null;
  const rest = {
    ...reading,
    ...{ bm_node_ids: others, address: "", asked_at: "", elapsed: 0 },
    ...(asked !== undefined && {
      asked: { ...asked, words: words === null ? asked.words : "", machines: digests },
    }),
  };
  return {
    ...{ id, address, words, digest, elapsed, rest: restOf(rest) },
    ...split(asked_at),
  };
}

function readingOf(line: Line): PowerReading {
  const { id, address, words, digest, elapsed, rest } = line;
  const { asked } = rest;
  return {
    ...rest,
    bm_node_ids: Number.isNaN(id) ? [] : [id, ...rest.bm_node_ids],
    ...{ address, asked_at: join(line), elapsed },
    ...(asked !== undefined && {
      asked: {
        ...asked,
        words: words === null ? asked.words : address + words,
        machines: digest === null ? [] : [digest, ...asked.machines],
      },
    }),
  };
}
