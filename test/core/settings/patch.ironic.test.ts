import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type Edit, settingsPatch, withEdits } from "../../../src/core/settings/patch.ts";
import { releaseNames } from "../../../src/edge/disk/load-tables.ts";
import { PLACEHOLDER, type SettingRow } from "../../../src/model/settings.ts";
import { config } from "../../../src/stages/config.ts";
import { tool } from "../../lab/bmc/tools.ts";
import { PYTHON } from "../../lab/python.ts";

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

/** What oslo.config finds in files: section, key and every value. @source oslo_config/cfg.py, ConfigParser */
const READ = `
import json, sys
from oslo_config import cfg
def read(path):
    sections = {}
    cfg.ConfigParser(path, sections).parse()
    return sections
print(json.dumps([read(path) for path in json.load(sys.stdin)]))
`;

test("oslo.config reads every file that was patched, for every release", async (t) => {
  const program = tool("patch");
  const folder = mkdtempSync(join(tmpdir(), "n2i-patched-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const texts = ["", "[DEFAULT]\n", "[DEFAULT]\nhost = a", `[DEFAULT]\nmy_password = ${SECRET}\n`];
  texts.push("[baremetal]\npower_manager = x\n\n", `[ironic]\npassword = ${SECRET}\n`);
  const patched: { readonly file: string; readonly wanted: readonly SettingRow[] }[] = [];
  for (const ironicRelease of releaseNames())
    for (const [at, text] of texts.entries()) {
      const file = join(folder, `${ironicRelease}-${at}.conf`);
      writeFileSync(file, text);
      const { inspected } = await config({ ironicRelease, novaConf: [file], ...PLAIN });
      const input = inspected?.patches.join("") ?? "";
      const ran = spawnSync(program, ["--fuzz=0", "-d", "/", "-p0"], { input, encoding: "utf8" });
      assert.equal(ran.status, 0, `${ran.stdout}\n${input}`);
      patched.push({ file, wanted: inspected?.rows ?? [] });
    }
  const input = JSON.stringify(patched.map(({ file }) => file));
  const read = spawnSync(PYTHON, ["-c", READ], { input, encoding: "utf8" });
  assert.equal(read.status, 0, read.stderr);
  const found = JSON.parse(read.stdout) as readonly Sections[];
  for (const [at, { file, wanted }] of patched.entries())
    for (const { section, key, wanted: value, state } of wanted)
      if (state !== "right")
        assert.equal(found[at]?.[section]?.[key]?.at(-1), value ?? PLACEHOLDER, `${file} ${key}`);
});

const PLAIN = { exactFilters: false, check: false } as const;
type Sections = {
  readonly [section: string]: { readonly [key: string]: readonly string[] } | undefined;
};
