import type {
  ConnectorPolicy,
  IdenticalDoc,
  SpareClass,
  WholeNode,
} from "../../model/switchover.ts";
import { createSeveral, type Several } from "../../model/text.ts";
import { bootsFromVolume, sourceFaults, spareFaults, stayingConnectors } from "./capable.ts";
import { differences, differenceText, hardwareKey } from "./identical.ts";

/** A lock passes by itself: a node that a conductor looks at right now is a spare all the same. */
const PASSING = "N2I-E380";
/** What no lock, state or protection is about: the machine's instance cannot boot elsewhere as it is. */
const INCAPABLE = "N2I-E382";

/** Gathers machines whose instance could go on elsewhere, and where. */
interface Gathering {
  /** One that is active. */
  readonly machine: (node: WholeNode) => void;
  /** One that is manageable or in enroll. */
  readonly spare: (node: WholeNode) => void;
  readonly classes: () => readonly SpareClass[];
  /** Machines that boot from a volume and could not elsewhere, each with why. */
  readonly incapable: Several;
  /** Nodes that are no spare, whoever needs one, each with why. */
  readonly unusable: Several;
}

export function gatherSpares(doc: IdenticalDoc, policy: ConnectorPolicy = "keep"): Gathering {
  const machines = new Map<string, { readonly example: WholeNode; count: number }>();
  const spares: WholeNode[] = [];
  const [incapable, unusable] = [createSeveral(), createSeveral()];
  return {
    machine(node) {
      if (!bootsFromVolume(node)) return;
      const whys = sourceFaults(node).filter(({ code }) => code === INCAPABLE);
      if (whys.length > 0) return incapable.add(nodeText(node, whys));
      const key = keyOf(node, doc, "all", policy);
      const known = machines.get(key);
      if (known === undefined) machines.set(key, { example: node, count: 1 });
      else known.count += 1;
    },
    spare(node) {
      const whys = spareFaults(node, policy).filter(({ code }) => code !== PASSING);
      if (whys.length > 0) unusable.add(nodeText(node, whys));
      else spares.push(node);
    },
    classes() {
      const ordered = spares.toSorted(inOrder);
      const alike = new Map<string, WholeNode[]>();
      for (const spare of ordered) {
        const key = keyOf(spare, doc, "always", policy);
        const others = alike.get(key);
        if (others === undefined) alike.set(key, [spare]);
        else others.push(spare);
      }
      return [...machines.values()].map(({ example, count }) => {
        const candidates = (alike.get(keyOf(example, doc, "always", policy)) ?? []).filter(
          (spare) => unlike(example, spare, doc, policy).length === 0,
        );
        const nearest =
          candidates.length > 0
            ? null
            : nearestOf(ordered, (spare) => unlike(example, spare, doc, policy));
        return { example, machines: count, candidates, nearest };
      });
    },
    ...{ incapable, unusable },
  };
}

export function nodeName({ name, uuid }: WholeNode): string {
  return name ?? uuid;
}

function nodeText(node: WholeNode, faults: readonly { readonly why: string }[]): string {
  return `${nodeName(node)} (${faults.map(({ why }) => why).join("; ")})`;
}

function keyOf(
  node: WholeNode,
  doc: IdenticalDoc,
  fields: "always" | "all",
  policy: ConnectorPolicy,
): string {
  return `${hardwareKey(node, doc, fields)} ${stayingConnectors(node, policy).join(" ")}`;
}

/** Each thing in which a spare is not what a machine is. */
export function unlike(
  machine: WholeNode,
  spare: WholeNode,
  doc: IdenticalDoc,
  policy: ConnectorPolicy = "keep",
): readonly string[] {
  const [wanted, has] = [machine, spare].map((node) => stayingConnectors(node, policy).join(" "));
  const connectors =
    wanted === has ? [] : [`volume connectors that stay: ${wanted || "none"} != ${has || "none"}`];
  return [...differences(machine, spare, doc).map(differenceText), ...connectors];
}

/**
 * The spares that could take a machine's place, in the order in which they are taken, as far as nodes alone say;
 * and of all the one that differs least.
 *
 * @param nodes without what hangs on them
 */
export function likelySpares(
  machine: WholeNode,
  nodes: readonly WholeNode[],
  doc: IdenticalDoc,
): { readonly likely: readonly WholeNode[]; readonly nearest: SpareClass["nearest"] } {
  // Ports and portgroups are lists of their own.
  const own = { fields: doc.fields.filter(({ as }) => as !== "list") };
  const usable = nodes
    .filter((node) => spareFaults(node).every(({ code }) => code === PASSING))
    .toSorted(inOrder);
  const whysOf = (node: WholeNode): readonly string[] =>
    differences(machine, node, own).map(differenceText);
  return {
    likely: usable.filter((node) => whysOf(node).length === 0),
    nearest: nearestOf(usable, whysOf),
  };
}

/** Which of two spares is taken first: the manageable one, then by name, then by uuid. */
function inOrder(one: WholeNode, other: WholeNode): number {
  const rank = ({ told }: WholeNode): number => (told.provision_state === "manageable" ? 0 : 1);
  // Beyond every name that Ironic takes: what has none comes last.
  const nameOf = ({ name }: WholeNode): string => name ?? "\u{10ffff}";
  return (
    rank(one) - rank(other) || byText(nameOf(one), nameOf(other)) || byText(one.uuid, other.uuid)
  );
}

function byText(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

function nearestOf(
  ordered: readonly WholeNode[],
  whysOf: (spare: WholeNode) => readonly string[],
): SpareClass["nearest"] {
  let nearest: { readonly spare: WholeNode; readonly whys: readonly string[] } | null = null;
  for (const spare of ordered) {
    const whys = whysOf(spare);
    if (nearest === null || whys.length < nearest.whys.length) nearest = { spare, whys };
  }
  return nearest === null ? null : { spare: nearest.spare, why: nearest.whys.join("; ") };
}
