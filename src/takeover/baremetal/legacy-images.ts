import { rmSync } from "node:fs";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError } from "../../lib/error.ts";
import { atExit } from "../../lib/files/at-exit.ts";
import { notWritten } from "../../lib/files/failure.ts";
import { download } from "../../migrate/boot/glance-image.ts";
import type { RestOptions } from "../../run/cloud.ts";
import { legacyImageIds } from "../../systems/nova-db/legacy.ts";
import { type GlanceImage, openImages } from "../../systems/openstack/glance-images.ts";
import type { ImageName } from "../../systems/tftp/rules/legacy.ts";
import type { readBootFacts } from "../leases/boot.ts";
import { beside, type Opening } from "./beside.ts";
import type { FetchedImage } from "./steps/legacy-boot.ts";

export type BootImages = ReturnType<typeof openBootImages>;

/**
 * @param said reads `[baremetal]` of the host's nova.conf
 * @param root the tree's root, whose disk has room for the images
 */
export function openBootImages(
  words: RestOptions,
  opening: Opening,
  said: (key: string) => string | null,
  root: string,
) {
  const { nova, keep, say } = opening;
  const glance = beside(words, opening, "Glance", openImages);
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
    async of(
      machines: readonly { readonly id: number; readonly instance: string }[],
      facts: Awaited<ReturnType<typeof readBootFacts>>,
    ): Promise<ReadonlyMap<number, ReadonlyMap<ImageName, GlanceImage | string>>> {
      const service = await glance.service();
      if (service === null) return new Map();
      const ids = await legacyImageIds(
        nova,
        machines.map(({ instance }) => instance),
      );
      const named = machines.map(({ id, instance }) => {
        const own = ids.get(instance.toLowerCase());
        const record = facts.get(id);
        const images: readonly (readonly [ImageName, string | null])[] = [
          ["kernel", own?.kernel ?? record?.kernel_id ?? null],
          ["ramdisk", own?.ramdisk ?? record?.ramdisk_id ?? null],
          ["deploy_kernel", own?.deploy_kernel ?? said("deploy_kernel")],
          ["deploy_ramdisk", own?.deploy_ramdisk ?? said("deploy_ramdisk")],
        ];
        return [id, images] as const;
      });
      const wanted = named.flatMap(([, images]) => images.flatMap(([, image]) => image ?? []));
      const whole = await glance.asked(() => service.whole(new Set(wanted)));
      if (whole === null) return new Map();
      return new Map(
        named.map(([id, images]) => [
          id,
          new Map(
            images.map(([name, image]) => {
              const found = image === null ? undefined : whole.get(image);
              const lack = image === null ? "its Glance image is unknown" : `${found} (${image})`;
              return [name, typeof found === "object" ? found : lack] as const;
            }),
          ),
        ]),
      );
    },
    /** Downloads an image once. @throws MigrationError N2I-E120, N2I-E210 to N2I-E212 */
    fetch(image: GlanceImage): Promise<FetchedImage> {
      folder ??= fetching(root);
      const known = fetched.get(image.id);
      if (known !== undefined) return known;
      const bringing = folder.then(async ({ path: at }) => {
        const service = await glance.service();
        if (service === null) throw new MigrationError("N2I-E210", "Glance no longer answers");
        say(`Fetching image ${image.id} from Glance, ${image.size} bytes.`);
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

/** Also deletes folders of killed processes. @throws MigrationError N2I-E120 */
async function fetching(root: string) {
  const path = await made(root).catch((cause: unknown) => {
    throw notWritten(root, cause);
  });
  const gone = atExit(() => rmSync(path, { recursive: true, force: true }));
  return {
    path,
    async remove(): Promise<void> {
      gone();
      await rm(path, { recursive: true, force: true });
    },
  };
}

async function made(root: string): Promise<string> {
  for (const name of await readdir(root)) {
    const path = join(root, name);
    if (!name.startsWith(FOLDER) || Date.now() - (await stat(path)).mtimeMs < STALE) continue;
    await rm(path, { recursive: true, force: true });
  }
  return mkdtemp(join(root, FOLDER));
}
