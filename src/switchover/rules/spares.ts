import { grouped } from "../../lib/grouped.ts";
import { createSeveral, type Several } from "../../lib/text.ts";
import type { IdenticalDoc, NodeDetail, SpareClass } from "../../model/switchover.ts";
import { bootsFromVolume, sourceFaults, spareFaults, stayingConnectors } from "./capable.ts";
import { differences, differenceText, hardwareKey } from "./identical.ts";

/** A lock is temporary, so a locked node counts as a spare. */
const PASSING = "N2I-E380";
/** The instance cannot boot elsewhere in its current configuration. */
const INCAPABLE = "N2I-E382";

export function gatherSpares(doc: IdenticalDoc) {
  const machines = new Map<string, { readonly example: NodeDetail; count: number }>();
  const spares: NodeDetail[] = [];
  const [incapable, unusable] = [createSeveral(), createSeveral()];
  return {
    /** An active node. */
    machine(node: NodeDetail) {
      if (!bootsFromVolume(node)) return;
      const whys = sourceFaults(node).filter(({ code }) => code === INCAPABLE);
      if (whys.length > 0) return incapable.add(nodeText(node, whys));
      const key = keyOf(node, doc, "all");
      const group = machines.get(key);
      if (group === undefined) machines.set(key, { example: node, count: 1 });
      else group.count += 1;
    },
    /** A manageable or enrolled node. */
    spare(node: NodeDetail) {
      const whys = spareFaults(node).filter(({ code }) => code !== PASSING);
      if (whys.length > 0) unusable.add(nodeText(node, whys));
      else spares.push(node);
    },
    classes(): readonly SpareClass[] {
      const ordered = spares.toSorted(inOrder);
      const alike = grouped(ordered, (spare) => keyOf(spare, doc, "always"));
      return [...machines.values()].map(({ example, count }) => {
        const candidates = (alike.get(keyOf(example, doc, "always")) ?? []).filter(
          (spare) => unlike(example, spare, doc).length === 0,
        );
        const nearest =
          candidates.length > 0 ? null : nearestOf(ordered, (spare) => unlike(example, spare, doc));
        return { example, machines: count, candidates, nearest };
      });
    },
    /** Machines that boot from a volume but cannot move, with the reason. */
    incapable: incapable as Several,
    /** Nodes that cannot be a spare for any machine, with the reason. */
    unusable: unusable as Several,
  };
}

export function nodeName({ name, uuid }: NodeDetail): string {
  return name ?? uuid;
}

function nodeText(node: NodeDetail, faults: readonly { readonly reason: string }[]): string {
  return `${nodeName(node)} (${faults.map(({ reason }) => reason).join("; ")})`;
}

function keyOf(node: NodeDetail, doc: IdenticalDoc, fields: "always" | "all"): string {
  return `${hardwareKey(node, doc, fields)} ${stayingConnectors(node).join(" ")}`;
}

export function unlike(
  source: NodeDetail,
  spare: NodeDetail,
  doc: IdenticalDoc,
): readonly string[] {
  const [needed, has] = [source, spare].map((node) => stayingConnectors(node).join(" "));
  const connectors =
    needed === has ? [] : [`volume connectors that stay: ${needed || "none"} != ${has || "none"}`];
  return [...differences(source, spare, doc).map(differenceText), ...connectors];
}

/**
 * Spares in the order of choice, locked ones last, and the spare with the fewest differences.
 *
 * @param nodes without ports and volumes
 */
export function likelySpares(
  machine: NodeDetail,
  nodes: readonly NodeDetail[],
  doc: IdenticalDoc,
): { readonly likely: readonly NodeDetail[]; readonly nearest: SpareClass["nearest"] } {
  // Ports and portgroups need separate requests.
  const scalars = { fields: doc.fields.filter(({ as }) => as !== "list") };
  const usable = nodes
    .filter((node) => spareFaults(node).every(({ code }) => code === PASSING))
    .toSorted(inOrder);
  const whysOf = (node: NodeDetail): readonly string[] =>
    differences(machine, node, scalars).map(differenceText);
  return {
    likely: usable
      .filter((node) => whysOf(node).length === 0)
      .toSorted((one, other) => spareFaults(one).length - spareFaults(other).length),
    nearest: nearestOf(usable, whysOf),
  };
}

function inOrder(one: NodeDetail, other: NodeDetail): number {
  const rank = ({ body }: NodeDetail): number => (body.provision_state === "manageable" ? 0 : 1);
  // Sorts nodes without a name last.
  const nameOf = ({ name }: NodeDetail): string => name ?? "\u{10ffff}";
  return (
    rank(one) - rank(other) || byText(nameOf(one), nameOf(other)) || byText(one.uuid, other.uuid)
  );
}

function byText(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

function nearestOf(
  ordered: readonly NodeDetail[],
  whysOf: (spare: NodeDetail) => readonly string[],
): SpareClass["nearest"] {
  const [best] = ordered
    .map((spare) => ({ spare, whys: whysOf(spare) }))
    .toSorted((one, other) => one.whys.length - other.whys.length);
  return best === undefined ? null : { spare: best.spare, reason: best.whys.join("; ") };
}
