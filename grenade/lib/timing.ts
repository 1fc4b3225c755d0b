import { processorSeconds } from "./processes.ts";

/** How long each part of a rehearsal took, and lines that say how far it is. */
export interface Timing {
  readonly tell: (line: string) => void;
  /** Does one part, and remembers its seconds. */
  readonly of: <T>(name: string, work: () => Promise<T>) => Promise<T>;
  readonly phases: () => readonly Spent[];
}

export interface Spent {
  readonly name: string;
  readonly seconds: number;
  /** Of the processor. */
  readonly processor: number;
}

/** A clock that starts now. */
export function clock({ quiet }: { readonly quiet: boolean }): Timing {
  const began = Date.now();
  const spent: Spent[] = [];
  return {
    tell: (line) => {
      if (quiet) return;
      const seconds = String(Math.round((Date.now() - began) / 1000)).padStart(4);
      process.stderr.write(`${seconds} s  ${line}\n`);
    },
    of: async (name, work) => {
      const [since, had] = [Date.now(), processorSeconds()];
      try {
        return await work();
      } finally {
        const seconds = (Date.now() - since) / 1000;
        // What nobody waited for as it ended is in no count.
        spent.push({ name, seconds, processor: Math.max(0, processorSeconds() - had) });
      }
    },
    phases: () => spent,
  };
}
