import { MigrationError } from "../../model/error.ts";
import { type Finding, finding, findingIf } from "../../model/finding.ts";
import type { Machine } from "../../model/machine.ts";
import { isLoaded, type PlannedMachine } from "../../model/plan.ts";
import { listed, show } from "../../model/text.ts";
import type { Transformed } from "../transform/transform.ts";
import type { Choice, HostSelector } from "./choice.ts";

/** Hosts a refusal names. */
const MOST = 10;

/** Which machines the words of `--compute-host` fit. */
interface HostSelection {
  /** Looks at a machine before rows of Nova are held against it. */
  readonly see: (machine: Machine, made: Transformed) => void;
  /** Learns what becomes of it. */
  readonly add: (line: PlannedMachine) => void;
  /**
   * What is odd, once every machine was added.
   *
   * @throws MigrationError N2I-E107 for a word that fits no machine: all looks afterwards would find
   *   the plan obeyed, and instances under their old host
   */
  readonly end: () => readonly Finding[];
}

export function createSelection(choice: Choice): HostSelection {
  const open = new Set<HostSelector>(choice.named);
  const hosts = new Set<string>();
  const kept = new Map<string, number>();
  let [moved, unknown] = [0, 0];
  return {
    see({ node: { service_host } }, { desired, blocked }) {
      // A blocked machine has no node, so its group and shard are not known.
      if (blocked) unknown += 1;
      if (service_host !== null) hosts.add(service_host);
      const machine = { service_host, records: desired };
      for (const word of open) if (word.fits(machine)) open.delete(word);
    },
    add(line) {
      if (!isLoaded(line)) return;
      const { service_host } = line;
      if (choice.of(line) !== null) moved += 1;
      else if (service_host !== null) kept.set(service_host, (kept.get(service_host) ?? 0) + 1);
    },
    end() {
      const doubtful = [...open].filter(({ kind }) => kind !== "host" && unknown > 0);
      const wrong = [...open].filter((word) => !doubtful.includes(word));
      if (wrong.length > 0)
        throw new MigrationError(
          "N2I-E107",
          `--compute-host ${wrong.map(told).join(", ")} fits no machine; they are on ${namesOf(hosts)}`,
        );
      return [
        ...doubtful.map((word) =>
          finding("N2I-D228", `--compute-host ${told(word)}`, `${unknown} machines are blocked`),
        ),
        ...[...kept].toSorted().flatMap(([host, count]) => {
          const place = `bm_nodes.service_host ${host}`;
          return findingIf(moved > 0, "N2I-D229", place, `it keeps ${count}, ${moved} are moved`);
        }),
      ];
    },
  };
}

function told({ kind, value }: HostSelector): string {
  return show(kind === "host" ? value : `${kind}:${value}`);
}

function namesOf(hosts: ReadonlySet<string>): string {
  return listed([...hosts].toSorted().map(show), MOST) || "no host";
}
