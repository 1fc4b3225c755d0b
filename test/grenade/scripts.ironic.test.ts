import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { packageRoot } from "../../src/run/files/package-root.ts";
import { needsProgram } from "../lab/binaries.ts";

const GRENADE = join(packageRoot(), "grenade");

/** Runs bash on what stands in for Grenade, once the plugin's settings are loaded. */
function bash(t: TestContext, script: string): string {
  const save = mkdtempSync(join(tmpdir(), "n2i-grenade-"));
  t.after(() => rmSync(save, { recursive: true }));
  const standin = join(GRENADE, "lib", "standin");
  const start = [
    "set -e",
    'source "$GRENADE_DIR/grenaderc"',
    'source "$GRENADE_DIR/functions"',
    'source "$UPGRADE/settings" >/dev/null',
  ];
  const { status, stdout, stderr } = spawnSync("bash", ["-c", [...start, script].join("\n")], {
    encoding: "utf8",
    env: {
      ...{ PATH: process.env.PATH, SAVE_DIR: save, GRENADE_DIR: standin },
      UPGRADE: join(GRENADE, "devstack", "upgrade"),
      ...{ TARGET_DEVSTACK_DIR: join(standin, "devstack"), TARGET_DEVSTACK_BRANCH: "stable/zed" },
    },
  });
  assert.equal(status, 0, stderr);
  return stdout;
}

test("the plugin's settings register its folder and every database that is read or written", (t) => {
  const said = bash(
    t,
    `echo "$UPGRADE_PROJECTS \${PLUGIN_DIR[nova2ironic]}"; echo $DATABASES_TO_SAVE`,
  );
  const folder = join(GRENADE, "devstack", "upgrade");
  const right = ` nova2ironic ${folder}\nnova_bm nova_api nova_cell0 nova_cell1 placement ironic\n`;
  assert.equal(said, right);
});

test("of what a script saves one word is kept, the last time it was saved, as Grenade does", (t) => {
  const said = bash(
    t,
    [
      "resource_save nova2ironic servers 'one two'",
      "resource_save nova2ironic image three",
      "resource_save nova2ironic servers 'four five'",
      "resource_get nova2ironic servers; resource_get nova2ironic image",
    ].join("\n"),
  );
  assert.equal(said, "four\nthree\n");
});

test("what is of one release is found by the branch: the pairing has to be allowed on Zed alone", (t) => {
  const releases = ["juno", "zed"].map((name) =>
    bash(
      t,
      [
        `upgrade_project nova2ironic "$UPGRADE" stable/${name} stable/${name}`,
        `echo "$N2I_IRONIC_RELEASE \${N2I_PAIRING[*]}"`,
      ].join("\n"),
    ),
  );
  assert.deepEqual(releases, ["juno \n", "2023.1 --allow-pairing\n"]);
});

test("ShellCheck finds nothing in the scripts of the rehearsal", () => {
  const program = needsProgram("shellcheck", { title: "ShellCheck", packages: ["shellcheck"] });
  const files = ["devstack", join("lib", "standin"), "run"].flatMap((name) =>
    statSync(join(GRENADE, name)).isFile() ? [name] : scripts(name),
  );
  const { status, stdout } = spawnSync(program, ["-x", ...files], {
    cwd: GRENADE,
    encoding: "utf8",
  });
  assert.equal(status, 0, stdout);
});

function scripts(folder: string): readonly string[] {
  return readdirSync(join(GRENADE, folder), { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name));
}
