import { counted } from "../../../lib/text.ts";
import { heal } from "../../../migrate/hosts/rules/allocations.ts";
import type { BmFacts, CheckResult, CheckView, PlanFacts, Refused } from "../../../model/check.ts";
import { index, type TextSet } from "../../../model/rows.ts";
import {
  type Check,
  countOf,
  fine,
  isRefused,
  lower,
  resultOf,
  textsOf,
  unreadable,
  unseen,
  warning,
} from "./look.ts";

/** A machine with its instance, UUIDs in lower case. */
interface Tenant {
  readonly uuid: string;
  readonly machine: string;
}

/** Facts of a database that only later Novas have. */
function ofLater<T extends object>(
  { ironic, bm, plan }: CheckView,
  side: T | Refused | null,
  option: string,
  inspect: (side: T, tenants: () => Iterable<Tenant>) => CheckResult,
): CheckResult {
  if (isRefused(ironic)) return unseen("--ironic-db");
  if (isRefused(bm)) return unseen("--nova-bm-db");
  if (side === null && !ironic.cells) return fine(`Nova in ${ironic.release} does not require it.`);
  if (side === null) return warning("Not checked.", `specify ${option}`);
  if (isRefused(side)) return unseen(option);
  const found = inspect(side, () => tenantsOf(bm, plan));
  const count = countOf(bm.nodes, ({ id }) => plan?.skipped.has(id));
  return count === 0 || found.result !== "Success"
    ? found
    : fine(`${counted(count, "machine is", "machines are")} skipped by the site document.`);
}

function* tenantsOf({ nodes }: BmFacts, plan: PlanFacts | null): Generator<Tenant> {
  for (const { id, uuid, instance_uuid } of nodes)
    if (instance_uuid && plan?.skipped.has(id) !== true)
      yield { uuid: lower(instance_uuid), machine: lower(uuid) };
}

/** Nova cannot find an instance without a mapping or cell. @source facts/rehearsal.md 4 */
function mappings(view: CheckView): CheckResult {
  return ofLater(view, view.api, "--nova-api-db", ({ mapped, cellless }, tenants) => {
    const missing = resultOf(
      textsOf(tenants(), ({ uuid }) => (mapped.has(uuid) || cellless.has(uuid) ? null : uuid)),
      "instances have no instance mapping, and can be neither stopped nor deleted",
      "nova-manage cell_v2 map_instances --cell_uuid CELL",
    );
    if (missing.result !== "Success") return missing;
    // map_instances skips existing mappings.
    return resultOf(
      textsOf(tenants(), ({ uuid }) => (cellless.has(uuid) ? uuid : null)),
      "instance mappings have no cell, and their instances can be neither stopped nor deleted",
      "UPDATE instance_mappings SET cell_id=(SELECT id FROM cell_mappings WHERE uuid='CELL') WHERE cell_id IS NULL AND instance_uuid='INSTANCE'",
    );
  });
}

/** @source facts/rehearsal.md 4; facts/ironic.md 5.3 */
function allocations(view: CheckView): CheckResult {
  return ofLater(view, view.placement, "--placement-db", ({ allocated, providers }, tenants) => {
    if (view.computes === null) return unreadable("--nova-db", "compute_nodes");
    const { computes } = view;
    const wrong = textsOf(providers, ({ uuid, name }) => {
      const compute = computes.get(lower(name));
      return compute === undefined || compute === lower(uuid)
        ? null
        : `provider ${uuid} of node ${name}, whose compute node is ${compute}`;
    });
    if (wrong.length > 0)
      return resultOf(
        wrong,
        "providers have a uuid that differs from their compute node, and are never updated",
        "UPDATE compute_nodes SET uuid='PROVIDER' WHERE hypervisor_hostname='NODE', nova-compute stopped",
      );
    const strange = textsOf(tenants(), ({ uuid, machine }) => {
      const wrong = (allocated.get(uuid) ?? []).filter(({ name }) => name !== machine);
      return wrong.length === 0
        ? null
        : `${uuid} on ${wrong.map((one) => one.name || one.uuid).join(" and ")}, its machine is ${machine}`;
    });
    if (strange.length > 0)
      return resultOf(
        strange,
        "instances with an allocation on a provider other than their machine's",
        "openstack resource provider allocation delete INSTANCE, then run check again",
      );
    const byName = index(providers, "name");
    return bare(
      tenants(),
      ({ uuid }) => allocated.get(uuid) !== undefined,
      view.classless,
      (machine) => byName(machine).length > 0,
    );
  });
}

/** Instances without an allocation. heal_allocations needs the flavor and a provider. */
function bare(
  tenants: Iterable<Tenant>,
  isAllocated: (tenant: Tenant) => boolean,
  classless: TextSet,
  hasProvider: (machine: string) => boolean,
): CheckResult {
  let [provided, classed] = [true, true];
  const texts = textsOf(tenants, (tenant) => {
    if (isAllocated(tenant)) return null;
    const { uuid, machine } = tenant;
    const [one, other] = [!classless.has(uuid), hasProvider(machine)];
    classed &&= one;
    provided &&= other;
    const missing = [
      ...(one ? [] : ["its embedded flavor has no resources:CUSTOM_*"]),
      ...(other ? [] : ["its machine has no provider"]),
    ];
    return missing.length === 0 ? uuid : `${uuid} (${missing.join(", ")})`;
  });
  const fixes = [
    ...(provided
      ? []
      : ["after the machines are loaded, start nova-compute to create the providers"]),
    ...(classed
      ? []
      : [
          "nova-manage db ironic_flavor_migration --resource_class CLASS --all (Pike 16.0.2 to Victoria), because heal_allocations uses instance_extra.flavor. If machines have several classes, use --host HOST --node NODE instead of --all. The command considers only compute nodes of the ironic driver",
        ]),
    heal(),
  ];
  return resultOf(texts, "instances without an allocation", fixes.join("; then "));
}

export const LATER: readonly Check[] = [
  { title: "Instance mappings", inspect: mappings },
  { title: "Allocations", inspect: allocations },
];
