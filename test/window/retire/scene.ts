import type { TestContext } from "node:test";
import type { Engine } from "../../../src/model/database.ts";
import type { Case } from "../../cases/case.ts";
import { runs } from "../../hostile/cli.ts";
import { deploy, load } from "../../hostile/deployment.ts";
import { SMALL } from "../../hostile/fleet.ts";

export async function finishedRun(engine: Engine, t: TestContext, given: Case = SMALL) {
  const made = await deploy(engine, t, given);
  const { at, source, reader, writer } = made;
  await load(made);
  await runs(0, ["finish", ...at, ...writer, "--yes", "-q"]);
  return { ...made, words: ["retire", ...at, ...source.slice(0, 2), ...reader] };
}
