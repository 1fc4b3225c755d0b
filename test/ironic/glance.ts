import { createServer } from "node:http";
import type { TestContext } from "node:test";
import { listening } from "../support/listening.ts";

/** What a tenant's image with kernel and ramdisk of its own has. */
const IMAGE = {
  ...{ name: "tenant", status: "active", visibility: "public", protected: false, tags: [] },
  ...{ disk_format: "ami", container_format: "ami", size: 1_048_576, min_disk: 0, min_ram: 0 },
  ...{ checksum: "d41d8cd98f00b204e9800998ecf8427e", os_hidden: false, owner: null },
  ...{ created_at: "2026-01-01T00:00:00Z", updated_at: "2026-01-01T00:00:00Z" },
  kernel_id: "d0000000-0000-4000-8000-00000000000b",
  ramdisk_id: "d0000000-0000-4000-8000-00000000000c",
};

export interface Glance {
  readonly section: { readonly auth_type: string; readonly endpoint_override: string };
  readonly asked: () => number;
}

/** As much of Glance as Ironic asks: it has every image, each an ami. */
export async function glance(t: TestContext): Promise<Glance> {
  let asked = 0;
  const server = createServer(({ url = "" }, answer) => {
    const id = /^\/v2\/images\/([^/?]+)$/.exec(url)?.[1];
    const schema = url === "/v2/schemas/image" ? { name: "image", properties: {} } : null;
    if (id !== undefined) asked += 1;
    const body = id === undefined ? schema : { ...IMAGE, id };
    answer.writeHead(body === null ? 404 : 200, { "Content-Type": "application/json" });
    answer.end(JSON.stringify(body));
  });
  const endpoint_override = await listening(t, server);
  return { section: { auth_type: "none", endpoint_override }, asked: () => asked };
}
