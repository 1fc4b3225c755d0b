import { MigrationError } from "../../model/error.ts";
import { isObject } from "../../model/json.ts";
import type { Cloud } from "../openstack/cloud.ts";
import { IMAGE } from "../openstack/kinds.ts";
import { ask, openSession } from "../openstack/session.ts";

/**
 * What Glance says of images: `active`, another status, or empty text where it has none of that id.
 * What is no id (a path, an address) is not asked for, and left out.
 *
 * @param limit milliseconds a call may take
 * @throws MigrationError N2I-E106, N2I-E202, N2I-E210 to N2I-E212
 */
export async function imageStatuses(
  cloud: Cloud,
  limit: number,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const session = await openSession(cloud, limit, IMAGE);
  const found = new Map<string, string>();
  try {
    for (const id of new Set(ids.filter((one) => /^[\w-]{1,255}$/.test(one)))) {
      const body = await ask(session, `/v2/images/${id}`, null);
      if (body !== null && !(isObject(body) && typeof body.status === "string"))
        throw new MigrationError(
          "N2I-E202",
          `${session.url} is no image service: it tells no status of an image`,
          { fix: "Compare the image endpoint of the catalog." },
        );
      found.set(id, isObject(body) ? String(body.status) : "");
    }
    return found;
  } finally {
    session.close();
  }
}
