import { pack } from "./packed.ts";
import type { KnownReadings, PowerReading } from "./power.ts";

/** Readings of a fleet's BMCs, a hundred bytes or two each; one is made anew whenever it is asked for. */
export interface PackedReadings extends KnownReadings {
  readonly put: (reading: PowerReading) => void;
  /** One for each machine, in the order in which they were put first. */
  readonly values: () => Iterable<PowerReading>;
}

/** What hardly two readings have in common; the rest is one object for all that are alike but for it. */
interface Line {
  readonly id: number;
  readonly address: string;
  /** What the question was made of, but for the address it begins with. */
  readonly words: string | null;
  readonly digest: string | null;
  readonly minute: string;
  readonly second: string;
  readonly elapsed: number;
  readonly rest: PowerReading;
}

/** Characters of `asked_at` that the readings of a minute have in common: `2026-01-01T00:00:`. */
const MINUTE = 17;

/** A reading may be of several machines behind one BMC; of two readings of a machine the later one counts. */
export function packReadings(): PackedReadings {
  const word = "word" as const;
  const lines = pack<Line>({
    ...{ id: "number", address: word, words: word, digest: word },
    ...{ minute: word, second: word, elapsed: "number", rest: word },
  });
  const places = new Map<number, number>();
  const alike = new Map<string, PowerReading>();
  const restOf = (reading: PowerReading): PowerReading => {
    const text = JSON.stringify(reading);
    const known = alike.get(text) ?? reading;
    alike.set(text, known);
    return known;
  };
  const at = (place: number | undefined): PowerReading | undefined => {
    const line = place === undefined ? undefined : lines.at(place);
    return line && readingOf(line);
  };
  return {
    put(reading) {
      for (const id of reading.bm_node_ids) places.set(id, lines.length);
      lines.put(lineOf(reading, restOf));
    },
    get: (id) => at(places.get(id)),
    *values() {
      for (const place of places.values()) {
        const reading = at(place);
        if (reading !== undefined) yield reading;
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
    ...{ minute: asked_at.slice(0, MINUTE), second: asked_at.slice(MINUTE) },
  };
}

function readingOf(line: Line): PowerReading {
  const { id, address, words, digest, elapsed, rest } = line;
  const { asked } = rest;
  return {
    ...rest,
    bm_node_ids: Number.isNaN(id) ? [] : [id, ...rest.bm_node_ids],
    ...{ address, asked_at: line.minute + line.second, elapsed },
    ...(asked !== undefined && {
      asked: {
        ...asked,
        words: words === null ? asked.words : address + words,
        machines: digest === null ? [] : [digest, ...asked.machines],
      },
    }),
  };
}
