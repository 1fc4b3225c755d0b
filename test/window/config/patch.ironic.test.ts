import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { PLACEHOLDER, type SettingRow } from "../../../src/model/settings.ts";
import { releaseNames } from "../../../src/run/files/load-tables.ts";
import { config } from "../../../src/window/config/config.ts";
import { privateFolder } from "../../hostile/deployment.ts";
import { tool } from "../../lab/bmc/tools.ts";
import { PYTHON } from "../../lab/python.ts";

const SECRET = "hunter2";

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
  const folder = privateFolder(t);
  const texts = ["", "[DEFAULT]\n", "[DEFAULT]\nhost = a", `[DEFAULT]\nmy_password = ${SECRET}\n`];
  const secret = `rabbit_password = ${SECRET}\n`;
  const api = `[ironic]\n${secret}api_endpoint = b`;
  texts.push(`[DEFAULT]\n${secret}compute_driver = a\n${secret}${api}`);
  texts.push("[baremetal]\npower_manager = x\n\n", `[ironic]\npassword = ${SECRET}\n`);
  const more = "[DEFAULT]\nhost = a\n[ironic]\nusername = b\n";
  texts.push(more.replaceAll("\n", "\r\n"), `\uFEFF${more.replace("\n", "\r\n")}`, "\uFEFF");
  const patched: { readonly file: string; readonly wanted: readonly SettingRow[] }[] = [];
  for (const ironicRelease of releaseNames())
    for (const [at, text] of texts.entries()) {
      const file = join(folder, `${ironicRelease}-${at}.conf`);
      writeFileSync(file, text);
      const patch = (input: string, ...words: readonly string[]): void => {
        const ran = spawnSync(program, [...words, "-d", "/", "-p0"], { input, encoding: "utf8" });
        assert.equal(ran.status, 0, `${ran.stdout}\n${input}`);
      };
      if (ironicRelease === "stein") {
        const { inspected } = await config({ ironicRelease, ironicConf: [file], ...PLAIN });
        for (const words of [["--fuzz=0"], ["--fuzz=0", "-R"]])
          patch(inspected?.patches.join("") ?? "", ...words);
        assert.equal(readFileSync(file, "utf8"), text);
      }
      const { inspected } = await config({ ironicRelease, novaConf: [file], ...PLAIN });
      patch(inspected?.patches.join("") ?? "", "--fuzz=0");
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
