import assert from "node:assert/strict";
import type { Scene } from "./scene.ts";

export const NATIVE = "f0000000-0000-4000-8000-000000000001";

/** A node, a port and a trait somebody enrolled over REST: a load and a rollback must not see them. */
export async function native({ api }: Pick<Scene, "api">): Promise<void> {
  const node = { uuid: NATIVE, driver: "fake-hardware", name: "native" };
  const created = await api("POST", "/v1/nodes", node);
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const port = { node_uuid: NATIVE, address: "52:54:ff:00:00:01" };
  assert.equal((await api("POST", "/v1/ports", port)).status, 201);
  const traits = { traits: ["CUSTOM_NATIVE"] };
  assert.equal((await api("PUT", `/v1/nodes/${NATIVE}/traits`, traits)).status, 204);
}
