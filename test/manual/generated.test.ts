import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { declaredCommands } from "../../src/cli/commands/load.ts";
import { isCommon, nameOf } from "../../src/cli/options/declared.ts";
import { REFUSALS } from "../../src/lib/refusals.ts";
import { FINDINGS } from "../../src/model/findings.ts";
import { packageRoot } from "../../src/run/files/package-root.ts";
import { matchesGolden } from "../support/golden.ts";
import { page } from "../support/manual.ts";
import { codesPage, commandPage, commonPage } from "./made-pages.ts";

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
