import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../engine/part.ts";
import { MigrationError } from "../lib/error.ts";
import type { JsonObject } from "../lib/json.ts";
import { listed, NAMES } from "../lib/text.ts";
import { isUuid } from "../lib/uuid.ts";
import { customClass } from "../migrate/flavors/rules/flavors.ts";
import type { ManageClients } from "../migrate/open/services.ts";
import type {
  ManageRequest,
  ServerImage,
  ServerView,
  ServerWishes,
} from "../model/ironic/manage.ts";
import type { Service } from "../model/ironic/service.ts";
import type { Keep } from "../run/databases.ts";
import { failpoint } from "../run/failpoint.ts";
import { waitingFor } from "../run/process-context.ts";
import { createAllocations } from "../systems/ironic-api/allocation.ts";
import { readConductors } from "../systems/ironic-api/conductors.ts";
import { createFakeHardware, type FakeHardware } from "../systems/ironic-api/fake-hardware.ts";
import { firstAlone } from "../systems/ironic-api/pool.ts";
import { readRunning } from "../systems/ironic-api/running.ts";
import { checkMinor } from "../systems/ironic-api/service.ts";
import { openOffers } from "../systems/nova-api/allocations.ts";
import type { NovaServer } from "../systems/nova-api/server-state.ts";
import { openServers, type ServerRequest } from "../systems/nova-api/servers.ts";
import type { NetworkService } from "../systems/openstack/neutron-ports.ts";
import { portsOf, requiredNetwork } from "./record-client.ts";
import { MARK, rejectionReasons } from "./rules/criteria.ts";
import { imageFor, novaRejections } from "./rules/nova.ts";
import {
  type ManageChange,
  portsBound,
  recordOf,
  reservationOf,
  serverRecord,
} from "./steps/manage-acts.ts";
import { NO_NODE, portContext } from "./steps/manage-positions.ts";

/** Each changing call resolves to null or the reason of the refusal. */
type NovaServers = Awaited<ReturnType<typeof openServers>>;

export type NovaClients = Awaited<ReturnType<typeof openNovaClients>>;

/**
 * Opens Nova and Placement in addition to Ironic and Neutron.
 *
 * @param started machines of this run that wait for their server
 * @throws MigrationError N2I-E106, N2I-E209 if a service is too old, N2I-E210 to N2I-E212
 */
export async function openNovaClients(
  clients: ManageClients,
  keep: Keep,
  wishes: ServerWishes,
  started: readonly ManageChange[],
) {
  const { service, cloud, limit } = clients;
  checkMinor(service, "driver exchange");
  const servers = await waitingFor("logging in to Nova and reading its version", () =>
    openServers(cloud, limit, failpoint),
  );
  keep(servers);
  const request = await byIds(wishes, started, clients, servers);
  const offers = await waitingFor("logging in to Placement", () => openOffers(cloud, limit));
  keep(offers);
  const hardware = createFakeHardware(service, failpoint);
  let pending: Promise<Service> | undefined;
  const readService = () => {
    pending ??= readConductors(service);
    // After a failure, the next machine reads the conductors again.
    pending.catch(() => {
      pending = undefined;
    });
    return pending;
  };
  /** Fails if Neutron's URL is unknown. */
  const network = () => requiredNetwork(clients);
  const opened: Opened = { clients, request, servers, offers, hardware, readService, network };
  const clock: Clock = { now: Date.now, sleep };
  return {
    recordClient: createAllocations(service, MARK, failpoint),
    ...{ hardware, servers, offers, network, clock },
    portsOf: (view: ServerView) => serverPorts(request, view),
    read: (change: ManageChange) => readView(opened, change),
    rejections: (view: ServerView, server: string, duplicates: ReadonlySet<string>) =>
      against(opened, view, server, duplicates),
    requestedOf(
      { name, description, availability_zone: zone, metadata }: ManageRequest,
      node: string,
      before: JsonObject,
      ports: readonly string[],
    ): ServerRequest {
      const image = imageFor({ node: before, request });
      return { name, description, zone, metadata, ports, node, flavor: request.flavor, image };
    },
    /**
     * Creates the first server alone: with two first builds at once, nova-compute's Ironic client
     * fails one with "no API version was specified" (Nova 26).
     *
     * @source python-ironicclient 5: common/http.py, negotiate_version
     */
    alone: firstAlone(ALONE_MS),
    /** Milliseconds to watch a machine afterwards. */
    watch: request.watch * 1000,
  };
}

/**
 * Replaces names by ids. An unknown flavor is kept and reported for each machine.
 *
 * @throws MigrationError N2I-E100 if a name does not identify one image
 */
async function byIds(
  wishes: ServerWishes,
  started: readonly ManageChange[],
  { images }: Pick<ManageClients, "images">,
  { flavorId }: Pick<NovaServers, "flavorId">,
): Promise<ServerWishes> {
  const { flavor, image } = wishes;
  const reserved = new Set(started.flatMap((change) => reservationOf(change)?.image ?? []));
  return {
    ...wishes,
    flavor: flavor === "" ? flavor : ((await flavorId(flavor)) ?? flavor),
    image: image === null || isUuid(image) ? image : await imageByName(image, images, reserved),
  };
}

async function imageByName(
  name: string,
  images: ManageClients["images"],
  used: ReadonlySet<string>,
): Promise<string> {
  const glance = await images();
  const id = await glance?.find(name);
  if (id != null) return id;
  const fault =
    glance === null
      ? `--image ${name} is not an id, and no endpoint of the image service is known`
      : `Glance has no active image ${name}, or more than one`;
  const open = `; machines of this run were started with image ${listed([...used], NAMES)}: pass that id, or run rollback`;
  throw new MigrationError("N2I-E100", `${fault}${used.size > 0 ? open : ": pass the image's id"}`);
}

/**
 * Milliseconds for the first server alone: two first builds at once can fail in nova-compute (Nova
 * 26). During that time, Nova offers the other machines to every user.
 */
const ALONE_MS = 20_000;

interface Opened {
  readonly clients: ManageClients;
  readonly hardware: FakeHardware;
  readonly network: () => Promise<NetworkService>;
  readonly request: ServerWishes;
  readonly servers: NovaServers;
  readonly offers: Awaited<ReturnType<typeof openOffers>>;
  /** Ironic's services, whose current load is not used. */
  readonly readService: () => Promise<Service>;
}

function serverPorts(
  { ports: requested }: ServerWishes,
  { node, ports }: ServerView,
): readonly string[] {
  if (requested !== null) return requested;
  const vifs = (node?.nics ?? []).flatMap(({ vif }) => vif ?? []);
  return vifs.filter((vif) => ports?.has(vif) === true);
}

async function readView(
  { clients, request, servers }: Opened,
  change: ManageChange,
): Promise<ServerView> {
  const { id } = change;
  const node = await readRunning(clients.service, id);
  const found = await serverOf(servers, change, node?.instance_uuid ?? null);
  const record =
    found &&
    serverRecord(change, {
      uuid: found.id,
      // Nova shows the node of a server only to an operator, so the node's instance_uuid is used.
      node_uuid: node?.instance_uuid === found.id ? id : null,
      state: /^(ACTIVE|SHUTOFF)$/.test(found.status) ? "active" : found.status,
    });
  const ports = await portsOf(clients, node, portsBound(change), request.ports ?? []);
  return { node, record, ports };
}

async function serverOf(
  servers: NovaServers,
  change: ManageChange,
  instance: string | null,
): Promise<NovaServer | null> {
  const uuid = recordOf(change);
  if (uuid !== change.server) return servers.read(uuid);
  if (!change.acts.some(({ step }) => step === "record")) return null;
  return servers.find(change.server, change.id, instance);
}

async function against(
  { clients, request, servers, offers, hardware, readService, network }: Opened,
  view: ServerView,
  server: string,
  sharedVifs: ReadonlySet<string>,
): Promise<readonly string[]> {
  const { node } = view;
  if (node === null) return [NO_NODE];
  const simple = rejectionReasons(node, portContext(view, sharedVifs, request.ports), server);
  if (simple.length > 0) return simple;
  const { node: latest, unseen } = await hardware.newest(await hardware.read(node.uuid));
  const offer = await offers.of(node.uuid, customClass(node.resource_class ?? ""));
  const portDetails = new Map<string, JsonObject | null>();
  for (const port of serverPorts(request, view))
    portDetails.set(port, await (await network()).details(port));
  return novaRejections({
    ...{ node: latest, request, offered: offer?.totals ?? null, ports: portDetails },
    addresses: node.nics.flatMap(({ address }) => address ?? []),
    hasVolumes: await hardware.hasVolumes(node.uuid),
    ...{ unseen, children: await hardware.children(node.uuid) },
    required: await servers.flavor(request.flavor),
    image: await imageOf(clients, imageFor({ node: latest, request })),
    ...{ ...(await readService()), project: servers.project },
  });
}

async function imageOf(
  { images }: ManageClients,
  image: string | null,
): Promise<ServerImage | "none" | null> {
  const glance = image === null ? null : await images();
  return image === null || glance === null ? null : ((await glance.image(image)) ?? "none");
}
