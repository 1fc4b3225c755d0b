import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Engine } from "../../../src/model/database.ts";
import type { Rehearsal } from "../../../src/model/rehearsal.ts";
import type { Case } from "../../cases/case.ts";
import { type Deployment, deploy, extractAndPlan } from "../../hostile/deployment.ts";
import { digest } from "../../hostile/digest.ts";
import { SMALL } from "../../hostile/fleet.ts";
import { CLIENTS } from "../../lab/cloud/schema.ts";
import { addressFile, type TestDatabase, withDatabase } from "../../lab/index.ts";
import { onlyUnderLock } from "../../support/under-lock.ts";

export async function rehearsing(engine: Engine, t: TestContext, given: Case = SMALL) {
  const made = await deploy(engine, t, given);
  const { at, ironic } = made;
  await extractAndPlan(made);
  const { copy, url } = await restored(t, made, ironic);
  return {
    ...{ ...made, copy },
    words: ["rehearse", ...at, "--ironic-db", url],
    dump: () => digest(ironic),
    found: () => foundIn(made),
  };
}

export function foundIn({ run }: Pick<Deployment, "run">): Rehearsal {
  return JSON.parse(readFileSync(join(run, "rehearsal.json"), "utf8")) as Rehearsal;
}

/** Restores a backup under another name. @returns the copy, and its address for a user who may write its rows alone */
export async function restored(
  t: TestContext,
  { folder }: Pick<Deployment, "folder">,
  database: TestDatabase,
): Promise<{ readonly copy: TestDatabase; readonly url: string }> {
  const copy = await withDatabase(database.engine, t);
  await restore(database, copy);
  const rights = "SELECT, INSERT, UPDATE, DELETE";
  const account = await copy.server?.restrictedUser("copy", copy.name, rights);
  const url = addressFile(folder, `copy-${randomUUID()}`, account?.url ?? copy.url);
  return { copy, url };
}

async function restore({ name, server }: TestDatabase, copy: TestDatabase): Promise<void> {
  if (server === null) return copyFileSync(name, copy.name);
  const { secret, at, dumpOne, load } = CLIENTS[server.engine];
  const env = { ...process.env, [secret]: server.password };
  const [dump = "", ...from] = dumpOne(name);
  // Its triggers want the lock of the database it was made of.
  const without = server.engine === "mysql" ? ["--skip-triggers"] : [];
  const words = server.engine === "mysql" ? [...at(server), ...without] : at(server);
  const input = execFileSync(dump, [...words, ...from], { env, maxBuffer: 2 ** 28 });
  const [client = "", ...into] = load(copy.name);
  const stdio = ["pipe", "ignore", "inherit"] as const;
  execFileSync(client, [...at(server), ...into], { env, input, stdio: [...stdio] });
  if (server.engine === "mysql") await onlyUnderLock(copy);
}
