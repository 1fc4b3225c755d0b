import { type Finding, finding } from "../../model/finding.ts";
import type { Instance, Machine } from "../../model/machine.ts";
import { show } from "../../model/text.ts";

/**
 * Where nova_bm and nova disagree. That an instance is missing, deleted or busy is told by the
 * state table, which decides what becomes of it.
 *
 * @source facts/nova-bm.md 1.11, 2.4, 5.1-5.3
 */
export function inspectNova({ node, nova, rivals }: Machine): readonly Finding[] {
  if (node.deleted === true || nova === null) return [];
  const where = `bm_nodes.id=${node.id}`;
  const { instance } = nova;
  return [
    ...(nova.service
      ? []
      : [
          finding(
            "N2I-D205",
            `${where} service_host`,
            `no live nova-compute is called ${named(node.service_host)}`,
          ),
        ]),
    ...nova.others.map((uuid) =>
      finding("N2I-D207", `${where} uuid`, `instances.uuid=${uuid} names this node`),
    ),
    ...(nova.undecided === undefined
      ? []
      : [finding("N2I-D123", `${where} instance_uuid`, `instances.deleted is ${nova.undecided}`)]),
    ...(nova.garbled ?? []).map((column) =>
      finding("N2I-D210", `${where} instance_uuid`, `${column} of the instance`),
    ),
    ...(instance === null || instance.deleted
      ? []
      : inspectInstance(instance, node, where, rivals.instance_uuid.length > 0)),
  ];
}

function inspectInstance(
  instance: Instance,
  node: Machine["node"],
  where: string,
  disputed: boolean,
): readonly Finding[] {
  const findings: Finding[] = [];
  // A disputed instance names the winner; the loser has a finding of its own.
  if (!disputed && instance.node?.toLowerCase() !== node.uuid?.toLowerCase())
    findings.push(
      finding("N2I-D203", `${where} instance_uuid`, `instances.node is ${named(instance.node)}`),
    );
  if (instance.host !== node.service_host)
    findings.push(
      finding(
        "N2I-D204",
        `${where} instance_uuid`,
        `instances.host is ${named(instance.host)}, service_host ${named(node.service_host)}`,
      ),
    );
  if (instance.flavor === null || instance.flavor.deleted)
    findings.push(
      finding(
        "N2I-D208",
        `${where} instance_uuid`,
        instance.flavor === null
          ? "nova has no such flavor"
          : `flavor ${named(instance.flavor.name)} is deleted`,
      ),
    );
  if (instance.vifs === null)
    findings.push(
      finding("N2I-D209", `${where} instance_uuid`, "instance_info_caches has no list of VIFs"),
    );
  return [...findings, ...inspectSizes(instance, node, where)];
}

function named(value: string | null): string {
  return value === null ? "NULL" : show(value);
}

/** bm_nodes caches the flavor's sizes in MiB; the helper grew root silently. @source facts/nova-bm.md 1.7, 3.5 */
function inspectSizes(
  { root_gb, ephemeral_gb }: Instance,
  node: Machine["node"],
  where: string,
): readonly Finding[] {
  return (
    [
      ["root_mb", root_gb],
      ["ephemeral_mb", ephemeral_gb],
    ] as const
  ).flatMap(([column, gb]) => {
    const mb = node[column];
    if (typeof mb !== "number" || mb <= 0 || gb === null || mb === gb * 1024) return [];
    return [
      finding("N2I-D120", `${where} ${column}`, `${mb} MiB here, ${gb} GiB in nova.instances`),
    ];
  });
}
