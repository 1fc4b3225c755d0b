import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { declaredCommands } from "../../src/cli/commands/load.ts";
import { isCommon, nameOf } from "../../src/cli/options/declared.ts";
import { REFUSALS } from "../../src/lib/refusals.ts";
import { FINDINGS } from "../../src/model/findings.ts";
import { packageRoot } from "../../src/run/files/package-root.ts";
import { matchesGolden } from "../support/golden.ts";
import { commands, page, pageNames } from "../support/manual.ts";
import { checkTable, exitTable } from "../support/manual-tables.ts";
import { codesPage, commandPage, commonPage } from "./made-pages.ts";

test("the manual's exit codes are those of the code", () => {
  const [all, check] = [exitTable().trim(), checkTable().trim()];
  assert.ok(page("scripts").includes(all), `scripts.md lacks:\n${all}`);
  assert.ok(page("decide").includes(check), `decide.md lacks:\n${check}`);
});

test("a link of README or of a page leads to a page and to a title on it", () => {
  const files = ["README.md", ...pageNames().map((name) => `src/manual/${name}.md`)];
  const read = (file: string): string => readFileSync(join(packageRoot(), file), "utf8");
  const broken = files.flatMap((file) =>
    [...read(file).matchAll(/\]\(([^):]+)\)/g)]
      .map(([, link = ""]) => link)
      .filter((link) => {
        const [path = "", title] = link.split("#");
        const to = path === "" ? file : join(dirname(file), path);
        if (!existsSync(join(packageRoot(), to))) return true;
        return title !== undefined && !titles(read(to)).includes(title);
      })
      .map((link) => `${file}: ${link}`),
  );
  assert.deepEqual(broken, []);
});

test("the manual's index names each page, and each page begins with a title", () => {
  const index = page("README");
  const missing = pageNames().filter(
    (name) => name !== "README" && !index.includes(`](${name}.md`),
  );
  assert.deepEqual(missing, []);
  for (const name of pageNames()) assert.match(page(name), /^# \S/);
});

/** What GitHub makes of titles. */
function titles(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w -]/g, "")
      .replaceAll(" ", "-"),
  );
}

test("each page with commands is one whose commands are run", () => {
  const run = [
    ...["bmcs", "connect", "decide", "going-back", "load", "nova", "quickstart", "scripts"],
    // On a later Nova: `manual` in test/takeover; in memory: `manual` in test/manage.
    ...["dead-host", "managing", "switchover"],
    // On a real Ironic: `manual` in test/ironic.
    ...["releases", "runbook", "runbook-juno"],
  ];
  const shown = pageNames().filter((name) => commands(page(name)).length > 0);
  assert.deepEqual(shown, run.toSorted());
});

const MANUAL = join(packageRoot(), "src", "manual");

// When this fails: UPDATE_GOLDEN=1 node dist/test/run.js default manual/generated
test("the page of codes is what the code says, with every code once", () => {
  const made = codesPage();
  const titles = [...made.matchAll(/^### (\S+)$/gm)].map(([, code]) => code);
  assert.deepEqual(titles.toSorted(), [...Object.keys(REFUSALS), ...Object.keys(FINDINGS)].sort());
  matchesGolden(join(MANUAL, "codes.md"), made);
});

test("each command has a page, which is what its options say, and no other is there", () => {
  const commands = declaredCommands();
  const fileOf = (command: (typeof commands)[number]) => `${nameOf(command).replace(" ", "-")}.md`;
  const files = commands.map(fileOf).sort();
  for (const command of commands) {
    const made = commandPage(command);
    for (const [name, is] of Object.entries(command.options ?? {}))
      assert.equal(new RegExp(`\`--${name}[\` ]`).test(made), !isCommon(is), name);
    matchesGolden(join(MANUAL, "commands", fileOf(command)), made);
  }
  matchesGolden(join(MANUAL, "common-options.md"), commonPage());
  assert.deepEqual(readdirSync(join(MANUAL, "commands")).sort(), files);
  const links = files.map((file) => `[${file.slice(0, -".md".length)}](commands/${file})`);
  const [before = "", told = ""] = page("README").split(/(?<=^## Commands\n)/m);
  const [words = ""] = told.split(/(?<=\n\n)(?=\[)/);
  matchesGolden(join(MANUAL, "README.md"), `${before}${words}${links.join(", ")}\n`);
});
