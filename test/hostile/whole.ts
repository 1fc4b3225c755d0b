import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Engine } from "../../src/model/database.ts";
import type { Case } from "../cases/case.ts";
import { writeTree } from "../cases/write-case.ts";
import { cloud, IMAGES } from "../migrate/nova/cloud.ts";
import { novaTree, treeDigest } from "../support/boot.ts";
import { runs } from "./cli.ts";
import { type Deployment, deploy } from "./deployment.ts";

/** A deployment that every command has something to do with: rows of Nova, boot files, a conductor. */
export type Whole = ReturnType<typeof withTrees>;

/** Two machines of which each has a tenant, on an Ironic that can stage them. */
export function wholeCase(machines = 2): Case {
  const made = cloud({ machines, others: 2, release: "kilo" });
  const nodes = made.nova_bm.nodes.map((node) => ({
    ...node,
    ...("instance_uuid" in node && {
      pxe_config_path: `/tftpboot/${String(node.instance_uuid)}/config`,
    }),
  }));
  const conductor = { hostname: "lab", drivers: '["pxe_ipmitool"]', online: true };
  return {
    ...made,
    nova_bm: { ...made.nova_bm, nodes },
    ironic: {
      release: "kilo",
      more: { conductors: [{ id: 1, ...conductor, updated_at: "2099-01-01 00:00:00" }] },
    },
  };
}

/** Builds it. */
export async function whole(engine: Engine, t: TestContext, given: Case = wholeCase()) {
  return withTrees(await deploy(engine, t, given), given);
}

/** Adds the trees to what was built of a case. */
export function withTrees(made: Deployment, given: Case) {
  const [old, tree] = [join(made.folder, "old"), join(made.folder, "tree")];
  const tenants = given.nova_bm.nodes.filter((node) => "instance_uuid" in node);
  writeTree(old, Object.assign({}, ...tenants.map(({ id }) => novaTree(Number(id)))));
  writeTree(tree, { "pxelinux.cfg": null });
  const { at, source, reader, plan } = made;
  const novaReader = source.slice(2, 4);
  return {
    ...made,
    ...{ old, tree, novaReader },
    extract: ["extract", ...at, ...source, "--tftp-root", old],
    planning: [
      ...["plan", ...at, ...reader, ...novaReader, ...plan],
      ...["--compute-host", "ironic-compute", ...IMAGES],
    ],
    check: ["check", ...at, ...source.slice(0, 4), ...reader, "--watch", "0", "--allow-pairing"],
    boot: ["boot", ...at, "--tftp-root", tree, "--served-as", "/tftpboot", "--from", old],
    trees: () => `${treeDigest(old)}\n${treeDigest(tree)}`,
  };
}

export async function plannedWhole(engine: Engine, t: TestContext, given?: Case): Promise<Whole> {
  const made = await whole(engine, t, given);
  await runs(0, [...made.extract, "-q"]);
  await runs(0, [...made.planning, "-q"]);
  return made;
}

export function fileOf({ run }: Deployment, name: string): string {
  return readFileSync(join(run, name), "utf8");
}

/** The commands that write, on a run in this folder. */
export function writing(
  made: Whole,
  folder: string,
): { readonly [name: string]: readonly string[] } {
  const { writer, novaWriter, boot } = made;
  const own = ["--run", folder];
  const both = [...own, ...writer, ...novaWriter, "--yes", "-q"];
  const one = ["--node", "1", "--deadline", "1", "--yes", "-q"];
  return {
    boot: [...boot.toSpliced(1, 2, ...own), "--yes", "-q"],
    release: ["handover", ...own, ...writer, ...one],
    apply: ["apply", ...both, "--staged"],
    finish: ["finish", ...own, ...writer, "--yes", "-q"],
    verify: ["verify", ...both.slice(0, 6), "-q"],
    rollback: ["rollback", ...both, "--all"],
    plan: [...made.planning.toSpliced(1, 2, ...own), "-q"],
  };
}
