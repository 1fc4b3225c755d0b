import assert from "node:assert/strict";
import { test } from "node:test";
import { parseBoot } from "../../../src/edge/disk/boot-entry.ts";
import type { JsonObject } from "../../../src/model/json.ts";
import { nodeOf } from "../../support/boot.ts";

function stage(path: string): JsonObject {
  const steps = [{ path, before: null, after: { kind: "folder" } }];
  return { do: "stage", tree: "/tftpboot", node: nodeOf(1), at: "now", by: "me", steps };
}

test("a step speaks of a machine's folder or link, and of nothing else", () => {
  for (const path of [nodeOf(1), `${nodeOf(1)}/config`, "pxelinux.cfg/01-52-54-00-00-00-01"])
    assert.equal(parseBoot(stage(path), "line").do, "stage", path);
  for (const path of [
    "../x",
    "/etc/passwd",
    `${nodeOf(1)}/..`,
    `${nodeOf(1)}/config/x`,
    "pxelinux.0",
  ])
    assert.throws(() => parseBoot(stage(path), "line"), { code: "N2I-E112" }, path);
});
