import type { Images } from "../../core/flavors/flavors.ts";
import { findImages, type ImageUse } from "../../edge/glance/images.ts";
import { cloudFor, type RestOptions } from "./cloud.ts";

/** What stands before the name of an image that Glance is to be asked for. */
export const BY_NAME = "name:";

/** Seconds a call may take. */
const LIMIT = 60;

/**
 * The images with their ids, those that are named looked up in Glance; others are taken as they are
 * given, and Glance is not asked.
 *
 * @throws MigrationError N2I-E215 when there is not exactly one that fits, N2I-E106 and N2I-E21. of
 *   the service
 */
export async function identified(images: Images, options: RestOptions): Promise<Images> {
  if (images.do !== "point") return images;
  const given: readonly (readonly [ImageUse, string])[] = [
    ["deploy kernel", images.kernel],
    ["deploy ramdisk", images.ramdisk],
  ];
  const asked = given.flatMap(([use, text]) =>
    text.startsWith(BY_NAME) ? [{ use, name: text.slice(BY_NAME.length) }] : [],
  );
  if (asked.length === 0) return images;
  const limit = (options.apiTimeout ?? LIMIT) * 1000;
  const found = await findImages(cloudFor(options), limit, asked);
  const ids = new Map(asked.map(({ use }, at) => [use, found[at] ?? ""]));
  return {
    do: "point",
    kernel: ids.get("deploy kernel") ?? images.kernel,
    ramdisk: ids.get("deploy ramdisk") ?? images.ramdisk,
  };
}
