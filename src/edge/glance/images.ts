import { MigrationError } from "../../model/error.ts";
import { isObject } from "../../model/json.ts";
import type { Cloud } from "../ironic-rest/cloud.ts";
import { IMAGE } from "../ironic-rest/kinds.ts";
import { ask, openSession, type Session } from "../ironic-rest/session.ts";

/** Formats a deploy image may have: Amazon's names of old, or none. @source facts/systems.md R25 */
const FORMATS = {
  "deploy kernel": ["aki", "raw"],
  "deploy ramdisk": ["ari", "raw"],
} as const satisfies { readonly [use: string]: readonly string[] };

export type ImageUse = keyof typeof FORMATS;

/** An image by its name, and what it is for. */
export interface AskedImage {
  readonly name: string;
  readonly use: ImageUse;
}

/** What Glance tells of an image. */
interface Image {
  readonly id: string;
  readonly status: string;
  readonly disk_format: string;
}

/**
 * Looks images up by their names: there must be one each that is active, and it must have a format
 * that fits its use.
 *
 * @param limit milliseconds a call may take
 * @returns ids in the order of the names
 * @throws MigrationError N2I-E215 naming what is wrong; N2I-E106, N2I-E210 to N2I-E212
 */
export async function findImages(
  cloud: Cloud,
  limit: number,
  asked: readonly AskedImage[],
): Promise<readonly string[]> {
  const session = await openSession(cloud, limit, IMAGE);
  try {
    const ids: string[] = [];
    for (const image of asked) ids.push(idOf(await named(session, image.name), image, session.url));
    return ids;
  } finally {
    session.close();
  }
}

function idOf(images: readonly Image[], { name, use }: AskedImage, url: string): string {
  const refuse = (why: string): MigrationError =>
    new MigrationError("N2I-E215", `${use} ${JSON.stringify(name)}: ${why}`);
  const active = images.filter(({ status }) => status === "active");
  const [only, ...others] = active;
  if (images.length === 0) throw refuse(`${url} has no image of this name`);
  if (only === undefined)
    throw refuse(`not active: ${images.map(({ id, status }) => `${id} is ${status}`).join(", ")}`);
  if (others.length > 0)
    throw refuse(
      `${active.length} images have this name: ${active.map(({ id }) => id).join(", ")}`,
    );
  const formats: readonly string[] = FORMATS[use];
  if (!formats.includes(only.disk_format))
    throw refuse(
      `${only.id} has disk_format ${only.disk_format || "none"}, wanted is ${formats.join(" or ")}`,
    );
  return only.id;
}

/** Every image of exactly this name, page by page. */
async function named(session: Session, name: string): Promise<readonly Image[]> {
  const found = new Map<string, Image>();
  for (let after: string | null = null; ; ) {
    const marker: string = after === null ? "" : `&marker=${encodeURIComponent(after)}`;
    const body = await ask(session, `/v2/images?name=${encodeURIComponent(name)}${marker}`, null);
    if (!isObject(body) || !Array.isArray(body.images))
      throw new MigrationError(
        "N2I-E202",
        `${session.url} is no image service: it tells no images`,
        {
          fix: "Compare the image endpoint of the catalog.",
        },
      );
    const page = (body.images as readonly unknown[]).filter(isObject);
    // A service that does not know the filter gives all.
    for (const one of page)
      if (one.name === name && typeof one.id === "string")
        found.set(one.id, {
          id: one.id,
          status: String(one.status),
          disk_format: typeof one.disk_format === "string" ? one.disk_format : "",
        });
    const last = page.at(-1)?.id;
    if (typeof body.next !== "string" || typeof last !== "string" || last === after)
      return [...found.values()];
    after = last;
  }
}
