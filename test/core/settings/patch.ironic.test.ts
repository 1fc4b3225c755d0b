import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type Edit, settingsPatch, withEdits } from "../../../src/core/settings/patch.ts";
import { tool } from "../../lab/bmc/tools.ts";

const SECRET = "hunter2";
const EDITS: readonly Edit[] = [
  { section: "DEFAULT", key: "compute_driver", value: "ironic.IronicDriver" },
  { section: "ironic", key: "admin_password", value: "CHANGE_ME" },
  { section: "ironic", key: "api_endpoint", value: "CHANGE_ME" },
];

test("patch(1) applies a patch, with secrets next to every change", (t) => {
  const program = tool("patch");
  const folder = mkdtempSync(join(tmpdir(), "n2i-patch-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "nova.conf");
  const secret = `rabbit_password = ${SECRET}\n`;
  const begin = `[DEFAULT]\na = 1\nb = 2\nc = 3\n${secret}compute_driver = libvirt\nd = 4\n${secret}`;
  for (const end of [
    ...[`[ironic]\n${secret}api_endpoint = old\n${secret}`, "", secret.trim(), "[ironic]", "e = 5"],
    ...[
      "[ironic]\napi_endpoint = old",
      "[ironic]\n\n\n",
      "[x]\ny = 1\n\n",
      "[ironic]\nadmin_url = k",
    ],
  ]) {
    const text = `${begin}${end}`;
    writeFileSync(file, text);
    const input = settingsPatch(file, text, EDITS);
    const words = ["--fuzz=0", "-d", "/", "-p0"];
    const patched = spawnSync(program, words, {
      input,
      encoding: "utf8",
    });
    assert.equal(patched.status, 0, `${patched.stdout}\n${input}`);
    assert.equal(readFileSync(file, "utf8"), withEdits(text, EDITS), input);
  }
});
