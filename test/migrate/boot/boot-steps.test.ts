import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../../../src/lib/json.ts";
import { stepsOf } from "../../../src/migrate/boot/boot-steps.ts";
import { nodeOf } from "../../support/boot.ts";

function staged(step: JsonObject) {
  return stepsOf(nodeOf(1), { observed: [{ steps: [step] }], open: false });
}

function folder(path: string) {
  return staged({ path, before: null, after: { kind: "folder" } });
}

test("a step speaks of a machine's folder or link, and of nothing else", () => {
  for (const path of [nodeOf(1), `${nodeOf(1)}/config`, "pxelinux.cfg/01-52-54-00-00-00-01"])
    assert.deepEqual(folder(path), [{ path, before: null, after: { kind: "folder" } }]);
  for (const path of [
    "../x",
    "/etc/passwd",
    `${nodeOf(1)}/..`,
    `${nodeOf(1)}/config/x`,
    "pxelinux.0",
  ])
    assert.throws(() => folder(path), { code: "N2I-E112" }, path);
});

test("a step that is not as the journal writes it is refused", () => {
  const [path, sha256] = [`${nodeOf(1)}/config`, "0"];
  const was = { text: "in clear", mode: 420, uid: 0, gid: 0 };
  for (const step of [
    { path, before: null },
    { path, before: null, after: { kind: "device" } },
    { path, before: null, after: { kind: "link" } },
    { path, before: { kind: "file", sha256, was }, after: { kind: "file", sha256 } },
  ])
    assert.throws(() => staged(step), { code: "N2I-E112" }, JSON.stringify(step));
  for (const steps of [null, "all", {}])
    assert.throws(() => stepsOf(nodeOf(1), { observed: [{ steps }], open: false }), {
      code: "N2I-E112",
    });
});
