import assert from "node:assert/strict";
import { test } from "node:test";
import yargs from "yargs";
import { applyOptions } from "../../src/cli/options/apply.ts";
import { declare } from "../../src/cli/options/declared.ts";
import { planOptions } from "../../src/cli/options/plan.ts";
import { rollbackOptions } from "../../src/cli/options/rollback.ts";
import { verifyOptions } from "../../src/cli/options/verify.ts";

for (const declared of [planOptions, applyOptions, verifyOptions, rollbackOptions])
  test(`help of ${declared.command} lists its own options first, then those of Nova, Ironic and the output`, async () => {
    const help = await declare(yargs([]).group([], "Options:"), declared).getHelp();
    const titles = [...help.matchAll(/^[A-Z][\w ]+:$/gm)].map(String);
    assert.equal(titles[0], "Options:");
    assert.ok(titles.includes("Nova:") && titles.includes("Ironic:"), titles.join(" "));
    const at = (text: string) => help.indexOf(text);
    assert.ok(at("--run") < Math.min(at("\nNova:"), at("\nIronic:")));
    for (const [title, option] of [
      ["Nova:", "--nova-db"],
      ["Ironic:", "--ironic-db"],
    ] as const)
      assert.match(help, new RegExp(`^${title}\\n(?:\\s+.*\\n)*?\\s+${option} `, "m"));
  });
