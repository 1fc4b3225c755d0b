import { rmSync } from "node:fs";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError, orMessage } from "../../lib/error.ts";
import { atExit } from "../../lib/files/at-exit.ts";
import { orNotWritten } from "../../lib/files/failure.ts";
import { readOsloFiles } from "../../lib/files/oslo.ts";
import { download } from "../../migrate/boot/glance-image.ts";
import type { BootStep } from "../../model/boot.ts";
import { type Finding, finding, findingIf } from "../../model/findings.ts";
import type { LegacyMove } from "../../model/nova/legacy-move.ts";
import { hasLogin, type RestOptions } from "../../run/cloud.ts";
import { tableNames } from "../../systems/database/identity.ts";
import type { Database } from "../../systems/database/open.ts";
import { mayRead } from "../../systems/nova-db/host-rights.ts";
import { legacyImageIds, SPECS } from "../../systems/nova-db/legacy.ts";
import { type GlanceImage, openImages } from "../../systems/openstack/glance-images.ts";
import { IMAGES, legacyConfig, PXE_APPEND } from "../../systems/tftp/rules/legacy.ts";
import { inspect } from "../../systems/tftp/safe-fs.ts";
import { openTrees } from "../../systems/tftp/tree.ts";
import { readBootFacts } from "../leases/leases.ts";
import type { HostOptions } from "../target.ts";
import { type Opening, openOptional } from "./legacy-ports.ts";
import {
  buildBoot,
  type FetchedImage,
  type InspectedBoot,
  inspectBoot,
  type LegacyTrees,
  prepareImages,
} from "./steps/legacy-boot.ts";

interface BootMachine {
  readonly id: number;
  readonly uuid: string;
  readonly instance: string;
  /** Its former host, then the host of its instance. */
  readonly hosts: readonly string[];
}

/** @throws MigrationError N2I-E100, N2I-E106, N2I-E206, N2I-E410 */
export async function openBoots(options: HostOptions, opening: Opening) {
  const { tftpRoot, tftpFrom = [], novaConf } = options;
  const conf = novaConf === undefined ? null : await readOsloFiles(novaConf.split(","), {});
  const setting = (key: string): string | null => conf?.get("baremetal", key) || null;
  const [tree] = tftpRoot === undefined ? [] : await openTrees([`*=${tftpRoot}`], "--tftp-root");
  const from = await openTrees(tftpFrom, "--tftp-from");
  const tilera = /tilera/i.test(setting("driver") ?? "");
  const trees =
    tree === undefined ? null : { tree, from, served: servedAs(setting("tftp_root") ?? tree.root) };
  const images =
    trees !== null && hasLogin(options)
      ? await openBootImages(options, opening, setting, trees.tree.root)
      : null;
  const files = trees && filesIn(options, opening.leases, setting, images, trees);
  return {
    async findings(
      machines: readonly BootMachine[],
    ): Promise<ReadonlyMap<number, readonly Finding[]>> {
      const boots = await files?.inspectAll(machines);
      const unknown = { root_uuid: "", reason: "--tftp-root was not specified" };
      const findingsOf = ({ id, instance }: BootMachine): readonly Finding[] => {
        const of = `instance ${instance}`;
        const { root_uuid, reason } = boots?.get(id) ?? unknown;
        const code = root_uuid === null ? "N2I-D288" : "N2I-D287";
        return [
          ...findingIf(tilera, "N2I-D286", of, `[baremetal]driver is ${setting("driver")}`),
          ...(reason === null ? [] : [finding(code, of, reason)]),
        ];
      };
      return new Map(machines.map((one) => [one.id, findingsOf(one)]));
    },
    async shared(): Promise<readonly Finding[]> {
      if (tree === undefined) return [];
      const { kind } = await inspect(tree.root, "pxelinux.0");
      return findingIf(kind === "absent", "N2I-D289", tree.root, "pxelinux.0 is missing");
    },
    /** Null without --tftp-root. */
    files,
    tidy: async () => images?.tidy(),
    /** Address of this host for booting machines; null if not specified. */
    myIp: options.myIp ?? (conf?.get("DEFAULT", "my_ip") || null),
  };
}

type ConfigReader = (key: string) => string | null;

function filesIn(
  { rootUuid = [] }: HostOptions,
  leases: Database,
  setting: ConfigReader,
  images: BootImages | null,
  trees: LegacyTrees,
) {
  const roots = new Map(
    rootUuid.map((entry) => {
      const [node = "", root = ""] = entry.toLowerCase().split("=");
      return [node, root] as const;
    }),
  );
  const fetch = (image: GlanceImage): Promise<FetchedImage> => {
    if (images === null) throw new Error("an image has no source to copy from");
    return images.fetch(image);
  };
  /** Finds missing boot files, by bm_nodes.id. */
  const inspectAll = async (
    machines: readonly BootMachine[],
  ): Promise<ReadonlyMap<number, InspectedBoot>> => {
    const facts = await readBootFacts(leases, machines);
    const fetched = await images?.of(machines, facts);
    const append = setting("pxe_append_params") ?? PXE_APPEND;
    const all = machines.map(async ({ id, uuid, instance: name, hosts }) => {
      const instance = name.toLowerCase();
      const { macs = [], key = null, root_uuid: published = null } = facts.get(id) ?? {};
      const pxe = { instance, served: trees.served, deployment: id, append };
      const boot = await inspectBoot(trees, {
        ...{ instance, macs, hosts, fetch, images: fetched?.get(id) ?? new Map() },
        root_uuid: roots.get(uuid.toLowerCase()) ?? published,
        render: (root_uuid) => (key === null ? null : legacyConfig({ ...pxe, root_uuid, key })),
      });
      return [id, boot] as const;
    });
    return new Map(await Promise.all(all));
  };
  const inspectOne = async ({
    id,
    uuid,
    from: old,
    tenant,
  }: LegacyMove): Promise<InspectedBoot> => {
    const { uuid: instance = "", host = old } = tenant ?? {};
    const boot = (await inspectAll([{ id, uuid, instance, hosts: [old, host] }])).get(id);
    if (boot === undefined) throw new Error(`no reading of ${uuid}`);
    return boot;
  };
  return {
    inspectAll,
    root: trees.tree.root,
    /** @returns why its boot files cannot be created, or null after the downloads */
    async fault(move: LegacyMove): Promise<string | null> {
      const boot = await inspectOne(move);
      return boot.reason ?? orMessage(prepareImages(boot));
    },
    /** @param begin receives all steps before the first one @throws MigrationError N2I-E300 */
    async build(move: LegacyMove, begin: (steps: readonly BootStep[]) => Promise<void>) {
      const boot = await inspectOne(move);
      if (boot.reason !== null) throw new MigrationError("N2I-E300", boot.reason);
      await buildBoot(trees.tree, boot, begin);
    },
  };
}

/** pxelinux ends a path at a blank. @throws MigrationError N2I-E100 */
function servedAs(root: string): string {
  if (/^\/[!-~]*$/.test(root)) return root;
  throw new MigrationError("N2I-E100", `${JSON.stringify(root)} cannot be used in a boot file`, {
    fix: "The path must be absolute, in ASCII and without spaces. If the host uses a different path for the tree, pass --nova-conf with [baremetal]tftp_root.",
  });
}

type BootImages = Awaited<ReturnType<typeof openBootImages>>;

/**
 * Images in Glance.
 *
 * @param setting reads `[baremetal]` of the host's nova.conf
 * @param root the tree's root, whose disk has room for the images
 * @throws MigrationError N2I-E206
 */
async function openBootImages(
  options: RestOptions,
  opening: Opening,
  setting: ConfigReader,
  root: string,
) {
  const { nova, keep, report } = opening;
  if ((await tableNames(nova)).has(SPECS)) await mayRead(nova, [SPECS]);
  const glance = openOptional(options, opening, "Glance", openImages);
  const fetched = new Map<string, Promise<FetchedImage>>();
  let folder: ReturnType<typeof fetching> | null = null;
  const tidy = async (): Promise<void> => {
    fetched.clear();
    const made = folder;
    folder = null;
    await (await made)?.remove();
  };
  keep({ close: tidy });
  return {
    tidy,
    /** By bm_nodes.id; a text is the reason why an image is missing. */
    async of(machines: readonly BootMachine[], facts: Awaited<ReturnType<typeof readBootFacts>>) {
      const found = await glance.ask(async (service) => {
        const uuids = machines.map(({ instance }) => instance);
        const idsByInstance = await legacyImageIds(nova, uuids);
        const idsOf = ({ id, instance }: BootMachine) => {
          const ids = idsByInstance.get(instance.toLowerCase());
          const record = facts.get(id);
          return {
            kernel: ids?.kernel ?? record?.kernel_id ?? null,
            ramdisk: ids?.ramdisk ?? record?.ramdisk_id ?? null,
            deploy_kernel: ids?.deploy_kernel ?? setting("deploy_kernel"),
            deploy_ramdisk: ids?.deploy_ramdisk ?? setting("deploy_ramdisk"),
          };
        };
        const all = machines.flatMap((one) => Object.values(idsOf(one)));
        const details = await service.details(new Set(all.filter((id) => id !== null)));
        const imageOf = (image: string | null): GlanceImage | string => {
          if (image === null) return "its Glance image is unknown";
          const detail = details.get(image);
          return typeof detail === "object" ? detail : `${detail} (${image})`;
        };
        return machines.map((one) => {
          const ids = idsOf(one);
          return [one.id, new Map(IMAGES.map((name) => [name, imageOf(ids[name])]))] as const;
        });
      });
      return new Map(found);
    },
    /** Downloads an image once. @throws MigrationError N2I-E120, N2I-E210 to N2I-E212 */
    fetch(image: GlanceImage): Promise<FetchedImage> {
      folder ??= fetching(root);
      const cached = fetched.get(image.id);
      if (cached !== undefined) return cached;
      const bringing = folder.then(async ({ path: at }) => {
        const service = await glance.service();
        if (service === null) throw new MigrationError("N2I-E210", "Glance no longer answers");
        report(`Fetching image ${image.id} from Glance, ${image.size} bytes.`);
        const file = join(at, image.id);
        return { file, sha256: await download(service, image, file) };
      });
      fetched.set(image.id, bringing);
      bringing.catch(() => fetched.delete(image.id));
      return bringing;
    },
  };
}

const FOLDER = ".n2i-images-";
/** Milliseconds after which a folder of a killed process is deleted. */
const STALE = 86_400_000;

/** Also deletes folders of killed processes. */
async function newFolder(root: string): Promise<string> {
  for (const name of await readdir(root)) {
    const path = join(root, name);
    if (!name.startsWith(FOLDER) || Date.now() - (await stat(path)).mtimeMs < STALE) continue;
    await rm(path, { recursive: true, force: true });
  }
  return mkdtemp(join(root, FOLDER));
}

/** @throws MigrationError N2I-E120 */
async function fetching(root: string) {
  const path = await newFolder(root).catch(orNotWritten(root));
  const cancelCleanup = atExit(() => rmSync(path, { recursive: true, force: true }));
  return {
    path,
    async remove(): Promise<void> {
      cancelCleanup();
      await rm(path, { recursive: true, force: true });
    },
  };
}
