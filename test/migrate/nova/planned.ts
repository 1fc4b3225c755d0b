import type { TestContext } from "node:test";
import type { Engine } from "../../../src/model/database.ts";

import type { Case } from "../../cases/case.ts";
import { ends, run } from "../../hostile/cli.ts";
import { deploy, extractAndPlan } from "../../hostile/deployment.ts";

import { copyFolder } from "../../support/copy-folder.ts";
import { cloud, IMAGES } from "./cloud.ts";
import { type Rows, rowsOf, sameRows } from "./rows.ts";

export type PlannedCloud = Awaited<ReturnType<typeof plannedCloud>>;

/** A cloud whose bare metal is planned to go to one new host, and its flavors to new images. */
export async function plannedCloud(
  engine: Engine,
  t: TestContext,
  options: readonly string[] = ["--compute-host", "ironic-compute", ...IMAGES],
  given: Case = cloud({ machines: 4, others: 6 }),
) {
  const made = await deploy(engine, t, given);
  const { source, nova, ironic, writer, novaWriter } = made;
  await extractAndPlan(made, ...source.slice(2, 4), ...options);
  const now = async () => ({ nova: await rowsOf(nova), ironic: await rowsOf(ironic) });
  const before = await now();
  const isAsBefore = async (): Promise<void> => {
    const found = await now();
    sameRows(found.nova, before.nova);
    sameRows(withoutIds(found.ironic), withoutIds(before.ironic));
  };
  /** A command on a copy of the planned run, or on the run itself; both databases to write to. */
  const act = (words: readonly string[], failpoint?: string, folder = made.run) =>
    run([...words, "--run", folder, ...writer, ...novaWriter, "--yes", "-q"], {
      env: failpoint === undefined ? {} : { NOVA2IRONIC_FAILPOINT: failpoint },
    });
  return {
    ...made,
    ...{ before, now, isAsBefore, act },
    async undone() {
      await ends(0, act(["rollback", "--all"]));
      await isAsBefore();
    },
    /** Another run's folder, planned likewise. */
    copy(name: string) {
      const folder = `${made.folder}/${name}`;
      copyFolder(made.run, folder);
      return folder;
    },
  };
}

export function withoutIds(rows: Rows): Rows {
  return new Map(
    [...rows.values()].map((row) => {
      const { id: _, node_id: __, ...rest } = row;
      return [JSON.stringify(rest), rest];
    }),
  );
}
