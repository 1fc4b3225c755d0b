import { counted, createSeveral } from "../../../lib/text.ts";
import type { CheckResult, CheckView, DeployImage, NovaFacts } from "../../../model/check.ts";
import { hasMovedToApi, versionName } from "../../../model/nova/nova-release.ts";
import {
  check,
  fine,
  firstOf,
  isRefused,
  readable,
  resultOf,
  unreadable,
  warning,
} from "./part.ts";

/** @source facts/nova-bm.md 4.2; facts/systems.md D3 */
const flavors = check("Flavors", ["nova", "ironic", "plan"], ({ nova, ironic, plan, api }) => {
  if (!ironic.flavored) return fine(`Nova of ${ironic.release} ignores deploy images in flavors.`);
  const facts = readable(api);
  if (hasMovedToApi(nova.version) && facts === null) return notInNova("Flavors", nova);
  if (hasMovedToApi(nova.version) && facts?.flavors === null)
    return unreadable("--nova-api-db", "flavors and flavor_extra_specs");
  const novaFlavors = nova.flavors.filter(({ id }) => facts === null || !facts.flavorIds.has(id));
  const all = [...novaFlavors, ...(facts?.flavors ?? [])];
  const old = all.filter(
    ({ step, value }) =>
      plan === null || (!plan.images.has(value ?? "") && !plan.nova?.flavors.has(step)),
  );
  const names = new Set(all.map(({ flavor }) => flavor));
  return firstOf(
    resultOf(
      [...new Set(old.map(({ flavor }) => flavor))],
      plan === null
        ? "flavors have deploy images, and without a plan Ironic's images are unknown"
        : "flavors have deploy images of nova-baremetal, which make a rebuild hang",
      `nova2ironic plan --nova-db DB${facts === null ? "" : " --nova-api-db DB"} --deploy-kernel ID --deploy-ramdisk ID${byName(old, all)}`,
      "Warning",
    ),
    fine(
      `${counted(names.size, "flavor has", "flavors have")} deploy images that are Ironic's or that apply changes.`,
    ),
  );
});

function notInNova(name: string, { version }: NovaFacts): CheckResult {
  return warning(
    `${name} of nova ${versionName(version)} are in nova_api, which was not read.`,
    "specify --nova-api-db",
  );
}

/** A plan skips flavors with one of two images unless they are named. Others have D231. */
function byName(old: readonly DeployImage[], all: readonly DeployImage[]): string {
  const halves = old.filter(
    ({ flavor, id }) => all.filter((one) => one.flavor === flavor && one.id === id).length === 1,
  );
  const names = halves.map(({ flavor }) => ` --flavor '${flavor.replaceAll("'", "'\\''")}'`);
  return halves.length < old.length
    ? `${names.join("")} (N2I-D231)`
    : `${names.join("")} (N2I-D230: it has only one of the two)`;
}

/** A takeover or deployment needs an image that the plan lacks. */
const NO_IMAGE = "N2I-D402";

/** @source facts/systems.md D R25 */
const images = check("Images", ["nova", "ironic", "plan"], (view) => {
  const { nova, plan, machines, isSkipped } = view;
  const found = createSeveral();
  for (const { uuid, deleted, image, node } of nova.instances)
    if (!deleted && !image && !machines(node).some(isSkipped))
      found.add(`instance ${uuid} has no image`);
  let used = false;
  for (const { uuid, instance_uuid, findings } of plan?.machines ?? []) {
    // An instance that nova does not know has no image until that finding is decided.
    if (findings.get(NO_IMAGE) !== false || findings.get("N2I-D201") === false) continue;
    found.add(`node ${uuid} lacks an image (${NO_IMAGE})`);
    used ||= Boolean(instance_uuid);
  }
  for (const { uuid, findings } of plan?.machines ?? [])
    if (findings.get(NO_IMAGE) === true)
      found.add(`node ${uuid} lacks an image, as you accepted (${NO_IMAGE})`);
  return firstOf(
    resultOf(
      found,
      "images are unknown",
      `run nova2ironic explain ${NO_IMAGE}, or set deploy_kernel and deploy_ramdisk in the site document`,
      used ? "Failure" : "Warning",
    ),
    active(view),
  );
});

/** The images' status in Glance, if it was queried. */
function active({ glance, plan }: CheckView): CheckResult {
  if (glance === null)
    return fine("Each image is specified, but whether it is active was not checked (--glance).");
  if (isRefused(glance)) {
    const { code, message } = glance.refused;
    return warning(`Glance could not be read: ${code} ${message}`, `nova2ironic explain ${code}`);
  }
  const bad = [...glance].filter(([, status]) => status !== "active");
  const imageText = ([id, status]: readonly [string, string]): string =>
    status === "" ? `${id} does not exist` : `${id} is ${status}`;
  return firstOf(
    resultOf(
      bad.filter(([id]) => plan?.images.has(id)).map(imageText),
      "deploy images that are not active",
      "run openstack image create, set the new ids in the site document, then run plan again",
    ),
    resultOf(
      bad.map(imageText),
      "images of tenants that are not active: the next rebuild fails, and on Juno and Kilo the takeover",
      "openstack image set --activate IMAGE, or upload it again under its id",
      "Warning",
    ),
    fine(`${counted(glance.size, "image is", "images are")} active.`),
  );
}

type Members = NonNullable<NovaFacts["aggregates"]>;

/** Renamed hosts lose their aggregates. @source facts/nova-bm.md 5.3 */
const aggregates = check("Aggregates", ["nova", "ironic", "plan"], (view) => {
  const { nova, ironic } = view;
  const planned = view.plan?.nova ?? null;
  const hosts = new Set<string>();
  for (const { service_host } of readable(view.bm)?.nodes ?? []) hosts.add(service_host ?? "");
  if (planned === null && (hosts.size < 2 || !ironic.clustered))
    return fine("No host has to be renamed, and the plan does not rename any host.");
  const inNova = !hasMovedToApi(nova.version);
  const apart = readable(view.api);
  const members = inNova ? nova.aggregates : (apart?.aggregates ?? null);
  if (members === null && (inNova || apart !== null))
    return unreadable(inNova ? "--nova-db" : "--nova-api-db", "aggregates and aggregate_hosts");
  if (members === null) return notInNova("Aggregates", nova);
  const of = (host: string): Members => members.filter((row) => row.host === host);
  if (planned === null)
    return resultOf(
      [...hosts].flatMap((host) => of(host).map(({ name }) => `${host} in ${name}`)),
      "aggregate memberships of hosts that are merged",
      inNova
        ? "nova2ironic plan --nova-db DB --compute-host NAME: the new host joins the aggregates that all of them have in common"
        : ADD,
      "Warning",
    );
  const joins = [...members, ...(inNova ? planned.joins : [])];
  const lost = [...planned.moves].flatMap(([from, hosts]) =>
    [...hosts].flatMap((to) =>
      of(from)
        .filter(({ id }) => !joins.some((one) => one.host === to && one.id === id))
        .map(({ name }) => `${name}: ${from} is a member, ${to} will not be`),
    ),
  );
  return resultOf(
    lost,
    "instances that leave their aggregates because their host is renamed",
    inNova ? "nova aggregate-add-host AGGREGATE HOST, then run plan again" : ADD,
    "Warning",
  );
});

/** Nova refuses unknown hosts in aggregates. */
const ADD =
  "openstack aggregate add host AGGREGATE HOST, once the nova-compute of the new host has started and nova-manage cell_v2 discover_hosts has run (N2I-D241)";

export const CLOUD = [flavors, images, aggregates];
