// `npm run build`, last part: pages for man(1), from the options that help knows.
import { mkdirSync, writeFileSync } from "node:fs";
import { declaredCommands } from "../.build/src/cli/commands/load.js";
import { describeCommand } from "../.build/src/cli/reference/describe.js";
import { mainManPage, manPage } from "../.build/src/cli/reference/man.js";
import { topics } from "../.build/src/edge/disk/manual.js";
import { version } from "../.build/src/edge/disk/package-root.js";

const OUT = ".build/man";
const docs = declaredCommands().map(describeCommand);
mkdirSync(OUT, { recursive: true });
writeFileSync(`${OUT}/nova2ironic.1`, `${mainManPage(docs, topics(), version())}\n`);
for (const doc of docs)
  writeFileSync(`${OUT}/nova2ironic-${doc.name}.1`, `${manPage(doc, version())}\n`);
