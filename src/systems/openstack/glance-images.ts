import { MigrationError } from "../../lib/error.ts";
import { isObject, type JsonObject } from "../../lib/json.ts";
import { counted } from "../../lib/text.ts";
import type { ServerImage } from "../../model/ironic/manage.ts";
import type { Cloud } from "./cloud.ts";
import { IMAGE } from "./kinds.ts";
import { askUntilAnswered, isPassing } from "./passing.ts";
import { ask, openSession, refusedCall, type ServiceSession } from "./session.ts";

/** Formats of deploy images: Amazon's old names, or raw. @source facts/systems.md R25 */
const FORMATS = {
  "deploy kernel": ["aki", "raw"],
  "deploy ramdisk": ["ari", "raw"],
} as const satisfies { readonly [use: string]: readonly string[] };

export interface RequestedImage {
  readonly by: "name" | "id";
  readonly text: string;
  readonly use: keyof typeof FORMATS;
}

type Image = ReturnType<typeof imageOf>;

/** An active image with the digest to verify its bytes. */
export interface GlanceImage {
  readonly id: string;
  /** Bytes. */
  readonly size: number;
  /** Lower-case hexadecimal, or null. */
  readonly digest: { readonly algorithm: string; readonly value: string } | null;
}

/**
 * Requires one active, visible image of a suitable format for each request.
 *
 * @param limit milliseconds per call
 * @throws MigrationError N2I-E215; N2I-E106, N2I-E210 to N2I-E212
 */
export async function findImages(
  cloud: Cloud,
  limit: number,
  requested: readonly RequestedImage[],
): Promise<readonly string[]> {
  return inGlance(cloud, limit, async (session) => {
    const ids: string[] = [];
    for (const image of requested) {
      const find = image.by === "name" ? imagesByName : withId;
      ids.push(idOf(await find(session, image.text), image, session.url));
    }
    return ids;
  });
}

/**
 * Empty for a missing image. Paths and addresses are skipped.
 *
 * @param limit milliseconds per call
 * @throws MigrationError N2I-E106, N2I-E202, N2I-E210 to N2I-E212
 */
export async function imageStatuses(cloud: Cloud, limit: number, ids: readonly string[]) {
  const uuids = ids.filter((one) => ID.test(one));
  return inGlance(cloud, limit, async (session) => {
    const found = new Map<string, string>();
    for (const id of new Set(uuids)) found.set(id, (await withId(session, id))[0]?.status ?? "");
    return found;
  });
}

/** Its calls throw MigrationError N2I-E202, N2I-E210 to N2I-E212. */
export type ImageService = Awaited<ReturnType<typeof openImages>>;

/** @param limit milliseconds per call @throws MigrationError N2I-E106, N2I-E210 to N2I-E212 */
export async function openImages(cloud: Cloud, limit: number) {
  const session = await openSession(cloud, limit, IMAGE);
  return {
    close: session.close,
    /** Accepts an id, the name of exactly one active image, or `glance://` and an id. */
    async find(source: string): Promise<string | null> {
      const text = source.replace(/^glance:\/\//, "");
      if (/^(?:[a-z][a-z0-9+.-]*:\/\/|\/)/i.test(text) || text.length > 255) return null;
      const [byId] = await withId(session, text);
      if (byId !== undefined) return byId.id;
      const images = await imagesByName(session, text);
      const [only, ...rest] = images.filter(({ status }) => status === "active");
      return rest.length === 0 ? (only?.id ?? null) : null;
    },
    image: async (id: string): Promise<ServerImage | null> =>
      (await withId(session, id))[0] ?? null,
    /** The reason why an image is not available, instead of the image. */
    async details(ids: ReadonlySet<string>) {
      const found = new Map<string, GlanceImage | string>();
      for (const id of ids) {
        const [one] = await withId(session, id);
        if (one === undefined) found.set(id, "Glance has no such image");
        else if (one.status !== "active" || one.size === null)
          found.set(id, `its status in Glance is ${one.status}`);
        else found.set(id, { id, size: one.size, digest: one.digest });
      }
      return found;
    },
    /** @param begin called before each try, which starts at the first byte */
    async bytes(
      id: string,
      begin: () => Promise<void>,
      into: (portion: Buffer) => Promise<void>,
    ): Promise<void> {
      const path = `/v2/images/${encodeURIComponent(id)}/file`;
      const fields = { Accept: "application/octet-stream" };
      const put = async () => {
        await begin();
        return session.call({ method: "GET", path, into, fields });
      };
      // A download may take any time. The limit applies between two chunks.
      const answer = await askUntilAnswered(put, { silent: Number.POSITIVE_INFINITY });
      if (answer.status === 200) return;
      if (!isPassing(answer)) throw refusedCall(session, `GET ${path}`, answer);
      const text = `${session.url} does not return ${path}: ${answer.fault}`;
      throw new MigrationError("N2I-E210", text);
    },
  };
}

/** Glance's format of an id. */
const ID = /^[\w-]{1,255}$/;

async function inGlance<T>(
  cloud: Cloud,
  limit: number,
  work: (session: ServiceSession) => Promise<T>,
): Promise<T> {
  const session = await openSession(cloud, limit, IMAGE);
  try {
    return await work(session);
  } finally {
    session.close();
  }
}

function idOf(images: readonly Image[], { by, text, use }: RequestedImage, url: string): string {
  const refuse = (reason: string): MigrationError =>
    new MigrationError("N2I-E215", `${use} ${JSON.stringify(text)}: ${reason}`);
  const active = images.filter(({ status }) => status === "active");
  const [only, ...rest] = active;
  if (images.length === 0)
    throw refuse(`${url} has no image with this ${by} that is visible with these credentials`);
  if (only === undefined)
    throw refuse(`not active: ${images.map(({ id, status }) => `${id} is ${status}`).join(", ")}`);
  if (rest.length > 0)
    throw refuse(
      `${counted(active.length, "image has", "images have")} this name: ${active.map(({ id }) => id).join(", ")}`,
    );
  const formats: readonly string[] = FORMATS[use];
  if (!formats.includes(only.disk_format))
    throw refuse(
      `${only.id} has disk_format ${only.disk_format || "none"}, expected is ${formats.join(" or ")}`,
    );
  return only.id;
}

async function imagesByName(session: ServiceSession, name: string): Promise<readonly Image[]> {
  const found = new Map<string, Image>();
  for (let after: string | null = null; ; ) {
    const marker: string = after === null ? "" : `&marker=${encodeURIComponent(after)}`;
    const body = await ask(session, `/v2/images?name=${encodeURIComponent(name)}${marker}`);
    if (!isObject(body) || !Array.isArray(body.images))
      throw noImages(session, "its response has no images");
    const page = (body.images as readonly unknown[]).filter(isObject);
    // A service without this filter returns all images.
    for (const one of page)
      if (one.name === name && typeof one.id === "string") found.set(one.id, imageOf(one.id, one));
    const last = page.at(-1)?.id;
    if (typeof body.next !== "string" || typeof last !== "string" || last === after)
      return [...found.values()];
    after = last;
  }
}

/** Empty for a missing image, a path or an address. */
async function withId(session: ServiceSession, id: string): Promise<readonly Image[]> {
  if (!ID.test(id)) return [];
  const body = await ask(session, `/v2/images/${encodeURIComponent(id)}`);
  if (body === null) return [];
  if (!isObject(body) || typeof body.status !== "string")
    throw noImages(session, "its response has no image status");
  return [imageOf(id, body)];
}

function noImages({ url }: ServiceSession, reason: string): MigrationError {
  return new MigrationError("N2I-E202", `${url} is not an image service: ${reason}`, {
    fix: "Check the image endpoint in the catalog.",
  });
}

function imageOf(id: string, body: JsonObject) {
  const { status, disk_format, size, min_ram, min_disk } = body;
  return {
    ...{ id, status: String(status), digest: digestOf(body) },
    disk_format: typeof disk_format === "string" ? disk_format : "",
    size: typeof size === "number" ? size : null,
    min_ram: typeof min_ram === "number" ? min_ram : 0,
    min_disk: typeof min_disk === "number" ? min_disk : 0,
  };
}

/** The operator's algorithm (since Rocky), or MD5. */
function digestOf({ checksum, os_hash_algo, os_hash_value }: JsonObject): GlanceImage["digest"] {
  if (typeof os_hash_algo === "string" && typeof os_hash_value === "string")
    if (/^sha(?:256|384|512)$/.test(os_hash_algo))
      return { algorithm: os_hash_algo, value: os_hash_value.toLowerCase() };
  return typeof checksum === "string" ? { algorithm: "md5", value: checksum.toLowerCase() } : null;
}
