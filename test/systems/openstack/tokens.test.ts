import assert from "node:assert/strict";
import { test } from "node:test";
import { openTokens } from "../../../src/serving/tokens.ts";

test("of more tokens than are kept, the oldest is asked about again", async () => {
  const asked: string[] = [];
  const token = { user: { id: "u" }, roles: [], expires_at: "2100-01-01T00:00:00Z" };
  const tokens = openTokens({
    http: {
      send({ headers }) {
        asked.push(headers["X-Subject-Token"] ?? "");
        return Promise.resolve({ status: 200, headers: {}, text: JSON.stringify({ token }) });
      },
      close: () => undefined,
    },
    ...{ url: "http://keystone", catalog: null, believed: 60, now: () => 0 },
  });
  const validate = async (name: string): Promise<void> => {
    const found = await tokens.validate(name, "req-x", () => undefined);
    assert.ok("owner" in found);
  };
  for (let at = 0; at <= 10_000; at += 1) await validate(`token-${at}`);
  assert.equal(asked.length, 10_001);
  await validate("token-10000");
  await validate("token-1");
  assert.equal(asked.length, 10_001);
  await validate("token-0");
  assert.equal(asked.length, 10_002);
});
