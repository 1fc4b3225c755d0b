import { MigrationError } from "../../../lib/error.ts";
import { textOrNull } from "../../../lib/json.ts";
import { counted, listed, show } from "../../../lib/text.ts";
import { type Finding, finding, findingIf } from "../../../model/findings.ts";
import type { Machine } from "../../../model/machine.ts";
import { type Desired, isLoaded, nodeOf, type PlannedMachine } from "../../../model/plan.ts";
import type { Transformed } from "../../transform/transform.ts";

/** The properties that select a machine: its old host and its node in Ironic. */
type Choosable = Pick<PlannedMachine, "service_host"> & {
  readonly records: readonly Pick<Desired, "resource" | "row">[];
};

/** Prefixes in `--compute-host group:rack7=NAME`. The default is host. */
const SELECTORS: { readonly [kind: string]: (machine: Choosable) => string | null } = {
  host: ({ service_host }) => service_host,
  group: ({ records }) => textOrNull(nodeOf(records)?.conductor_group),
  shard: ({ records }) => textOrNull(nodeOf(records)?.shard),
};

export type Choice = ReturnType<typeof choiceOf>;

/**
 * Parses `NAME`, `HOST=NAME`, `group:GROUP=NAME` and `shard:SHARD=NAME`. The first match applies,
 * and a bare NAME matches all. For a host name that looks like a selector, use `host:HOST=NAME`.
 * @throws MigrationError N2I-E100, also if two values name different hosts for the same machines
 */
export function choiceOf(values: readonly string[]) {
  const all = values.map(ruleOf);
  // Specific values come before the value for all machines.
  const rules = [...all.filter(({ by }) => by !== null), ...all.filter(({ by }) => by === null)];
  refuseTwoHosts(rules);
  const targets = new Map<string, readonly string[] | null>();
  for (const { by, to } of rules) {
    const sources = targets.get(to);
    if (by?.kind !== "host" || sources === null) targets.set(to, null);
    else targets.set(to, [...(sources ?? []), by.value]);
  }
  return {
    /** New hosts, with the old hosts they may replace. Null: every old host. */
    targets,
    /** The selectors, without values that apply to all machines. */
    selectors: rules.flatMap(({ by }) => by ?? []),
    /** Null: the current host. */
    of: (machine: Choosable): string | null =>
      rules.find(({ by }) => by === null || by.matches(machine))?.to ?? null,
  };
}

type Rule = ReturnType<typeof ruleOf>;
type HostSelector = NonNullable<Rule["by"]>;

function refuseTwoHosts(rules: readonly Rule[]): void {
  for (const { by, to } of rules) {
    const other = rules.find(
      (rule) => rule.by?.kind === by?.kind && rule.by?.value === by?.value && rule.to !== to,
    );
    if (other === undefined) continue;
    const of = by === null ? "all machines" : `${by.kind}:${by.value}`;
    const text = `--compute-host specifies both ${to} and ${other.to} for ${of}`;
    throw new MigrationError("N2I-E100", text);
  }
}

/** The host, and the machines that the part before `=` selects. Null: every machine. */
function ruleOf(text: string) {
  const [, kind = "host", value, to] = /^(?:(?:([a-z]+):)?([^=]+)=)?([^=]+)$/s.exec(text) ?? [];
  const select = Object.hasOwn(SELECTORS, kind) ? SELECTORS[kind] : undefined;
  if (to === undefined || select === undefined) throw new Error(`no compute host in ${text}`);
  const matches = (machine: Choosable): boolean => select(machine) === value;
  return { by: value === undefined ? null : { kind, value, matches }, to };
}

const MOST = 10;

/** Records which machines the values of `--compute-host` match. */
export function createSelection(choice: Choice) {
  const open = new Set<HostSelector>(choice.selectors);
  const hosts = new Set<string>();
  const counts = new Map<string, number>();
  let [moved, unknown] = [0, 0];
  return {
    /** Call it for a machine before its Nova rows are checked. */
    see({ node: { service_host } }: Machine, { desired, blocked }: Transformed): void {
      // A blocked machine has no node, so its group and shard are unknown.
      if (blocked) unknown += 1;
      if (service_host !== null) hosts.add(service_host);
      const machine = { service_host, records: desired };
      for (const selector of open) if (selector.matches(machine)) open.delete(selector);
    },
    add(line: PlannedMachine): void {
      if (!isLoaded(line)) return;
      const { service_host } = line;
      if (choice.of(line) !== null) moved += 1;
      else if (service_host !== null) counts.set(service_host, (counts.get(service_host) ?? 0) + 1);
    },
    /** Findings about all machines. @throws MigrationError N2I-E107 for a value without a match */
    end(): readonly Finding[] {
      const doubtful = [...open].filter(({ kind }) => kind !== "host" && unknown > 0);
      const wrong = [...open].filter((selector) => !doubtful.includes(selector));
      const blocked = `${counted(unknown, "machine is", "machines are")} blocked`;
      const present = listed([...hosts].toSorted().map(show), MOST) || "no host";
      const text = `--compute-host ${wrong.map(selectorText).join(", ")} matches no machine. Machines are on ${present}`;
      if (wrong.length > 0) throw new MigrationError("N2I-E107", text);
      return [
        ...doubtful.map((selector) =>
          finding("N2I-D228", `--compute-host ${selectorText(selector)}`, blocked),
        ),
        ...[...counts].toSorted().flatMap(([host, count]) => {
          const where = `bm_nodes.service_host ${host}`;
          return findingIf(moved > 0, "N2I-D229", where, `it keeps ${count}, ${moved} are moved`);
        }),
        ...[...choice.targets.keys()].flatMap((name) =>
          findingIf(/[^ -~]/.test(name), "N2I-D245", "--compute-host", show(name)),
        ),
      ];
    },
  };
}

function selectorText({ kind, value }: HostSelector): string {
  return show(kind === "host" ? value : `${kind}:${value}`);
}
