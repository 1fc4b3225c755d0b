import { setImmediate as turn } from "node:timers/promises";
import { orNull } from "../../lib/error.ts";
import { prefetch } from "../../lib/streams.ts";
import { counted } from "../../lib/text.ts";
import type { SnapshotHeader } from "../../model/artefact.ts";
import type { BootFile } from "../../model/boot.ts";
import type { Finding } from "../../model/findings.ts";
import type { HostConfig, Machine, SnapshotLine } from "../../model/machine.ts";
import type { Seal } from "../../model/secret.ts";
import { closing, openRole } from "../../run/databases.ts";
import { createArtefact } from "../../run/files/artefact-writer.ts";
import { readJournal } from "../../run/files/journal.ts";
import { findPlan, openManifest } from "../../run/files/plan-folder.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { createSeal, readOrMakeKey } from "../../run/files/seal.ts";
import { inRun, SNAPSHOT, sealOf } from "../../run/run.ts";
import { saveOptions } from "../../run/saved-options.ts";
import type { Sink } from "../../run/sink.ts";
import { VERSION } from "../../run/version.ts";
import { identify } from "../../systems/database/identity.ts";
import { readableByAnyone, readHostConfigs } from "../../systems/database/nova-conf.ts";
import type { Database } from "../../systems/database/open.ts";
import { claimedInstances, readSchema } from "../../systems/nova-bm/open.ts";
import { type MachineBatch, readMachines } from "../../systems/nova-bm/read.ts";
import { identifyNova, novaVersion } from "../../systems/nova-db/plan-open.ts";
import { openNova } from "../../systems/nova-db/read.ts";
import { factsOf, inFolder, linkOf, linkTarget } from "../../systems/tftp/rules/pxe-config.ts";
import {
  openTrees,
  readLink,
  readText,
  sizeOf,
  type Tree,
  treeOf,
} from "../../systems/tftp/tree.ts";
import { plansInIronic } from "../plan/loaded-plans.ts";
import { hostOf } from "../transform/driver.ts";
import { portsOf } from "../transform/tenant.ts";
import { inspect, inspectOrphan, inspectSources, unknownOf } from "./rules/inspect.ts";

interface ExtractRequest {
  readonly run: string;
  readonly novaBmDb: string;
  readonly novaDb?: string;
  readonly novaConf?: readonly string[];
  readonly tftpRoot?: readonly string[];
  readonly keyFile?: string;
}

/** Reads nova_bm, nova and the hosts' files into the snapshot of a run, which it creates. */
export function extract(
  request: ExtractRequest,
  { report, during }: Pick<Sink, "report" | "during">,
) {
  const { novaConf = [], tftpRoot = [], novaDb } = request;
  return inRun(request.run, "extract", { kind: "migration", create: true }, async (run) => {
    const seal = await sealFor(run, request.keyFile);
    const hosts = await readHostConfigs(novaConf, seal);
    const trees = await openTrees(tftpRoot, "--tftp-root");
    for (const spec of novaConf) {
      const path = spec.slice(spec.indexOf("=") + 1);
      if (await readableByAnyone(path))
        report(`Warning: ${path} can be read by other users, and may contain passwords.`);
    }
    return closing(async (keep) => {
      const readOnly = { readOnly: true };
      const bm = keep(await openRole("nova-bm-db", request.novaBmDb, readOnly));
      const nova = novaDb === undefined ? null : keep(await openRole("nova-db", novaDb, readOnly));
      const forget = await saveOptions(run, "extract", request);
      const now = new Date().toISOString();
      const made = await during(
        "extract",
        undefined,
        (progress) => takeSnapshot(run, { bm, nova, hosts, trees }, seal, now, progress),
        ({ counts }) => `${counted(counts.machines, "machine")}`,
      ).catch((cause: unknown) => forget().then(() => Promise.reject(cause)));
      return { ...made, path: run.path };
    });
  });
}

/** The key of secrets, created if missing. A rollback needs its plan's key. @throws N2I-E115 */
async function sealFor(run: RunFolder, keyFile: string | undefined) {
  const [loaded] = plansInIronic((await readJournal(run)).entries);
  const plan = loaded === undefined ? null : await orNull(findPlan(run, loaded));
  if (plan === null) return createSeal(await readOrMakeKey(run.path, keyFile));
  return sealOf(run, keyFile, (await openManifest(plan)).manifest.key);
}

/** Reads nova_bm and nova into the run's snapshot, machine by machine. Secrets are sealed. */
export async function takeSnapshot(
  run: RunFolder,
  sources: {
    readonly bm: Database;
    readonly nova: Database | null;
    readonly hosts: readonly HostConfig[];
    /** The compute hosts' TFTP trees. Without them, boot files are not checked. */
    readonly trees: readonly Tree[];
  },
  seal: Seal & { readonly id: string },
  takenAt: string,
  progress: (machines: number) => void,
) {
  const { bm, nova, hosts, trees } = sources;
  const schema = await readSchema(bm);
  // The snapshot reads other tables than the plan. This refuses a database without them.
  if (nova !== null) await novaVersion(nova);
  const novaIs = nova === null ? null : await identifyNova(nova);
  const header: SnapshotHeader = {
    format: "nova2ironic/snapshot@2",
    tool: VERSION,
    taken_at: takenAt,
    source: { nova_bm: { ...(await identify(bm)), schema_version: schema.version }, nova: novaIs },
    columns: schema.columns,
    unknown_columns: schema.unknown,
    hosts,
    ignored_tables: schema.ignored,
    key: seal.id,
    findings: inspectSources(nova !== null, schema.ignored),
  };
  const counts = { machines: 0, deleted: 0, interfaces: 0, orphans: 0, instances: 0 };
  const findings = new Map<string, number>();
  /** Number of machines with a value in an unknown column, by column: `bm_nodes.rack`. */
  const unknown = new Map<string, number>();
  /** Compute hosts without a nova.conf, with the number of their machines. */
  const withoutConf = new Map<string, number>();
  const note = (found: readonly Finding[]): void => {
    for (const { code } of found) findings.set(code, (findings.get(code) ?? 0) + 1);
  };
  note(header.findings);
  const reader = nova === null ? null : await openNova(nova, await claimedInstances(bm));
  const writer = await createArtefact(run, SNAPSHOT, header);
  try {
    const read = prefetch(readMachines(bm, schema, seal));
    for await (const batch of prefetch(withNovaView(read, reader, trees, hosts))) {
      await turn(); // sends the next query before this batch is written
      for (const orphan of batch.orphans) {
        const finding = inspectOrphan(orphan);
        note([finding]);
        counts.orphans += 1;
        await writer.write({ orphan, finding } satisfies SnapshotLine);
      }
      for (const machine of batch.machines) {
        counts.machines += 1;
        counts.interfaces += machine.interfaces.length;
        if (machine.node.deleted === true) counts.deleted += 1;
        if (machine.node.instance_uuid !== null) counts.instances += 1;
        note(machine.findings);
        const { deleted, service_host } = machine.node;
        if (deleted !== true && service_host !== null && hostOf(machine, hosts) === null)
          withoutConf.set(service_host, (withoutConf.get(service_host) ?? 0) + 1);
        for (const column of unknownOf(machine))
          unknown.set(column, (unknown.get(column) ?? 0) + 1);
        const wait = writer.write(machine);
        if (wait !== undefined) await wait;
      }
      progress(counts.machines);
    }
    const { sha256 } = await writer.finish(counts);
    return { header, counts, sha256, findings, unknown, withoutConf };
  } catch (error) {
    await writer.abandon();
    throw error;
  } finally {
    await reader?.close();
  }
}

/** Batches with Nova's view of their machines, and the findings of both. */
async function* withNovaView(
  batches: AsyncIterable<MachineBatch>,
  reader: Awaited<ReturnType<typeof openNova>> | null,
  trees: readonly Tree[],
  hosts: readonly HostConfig[],
): AsyncGenerator<MachineBatch> {
  const addBoot = async (machine: Machine): Promise<Machine> => {
    const boot = await harvest(machine, trees, hosts);
    return boot === undefined ? machine : { ...machine, boot };
  };
  for await (const { machines, orphans } of batches) {
    const nodes = machines.map(({ node }) => node);
    const views = nodes.length === 0 ? [] : await reader?.view(nodes);
    const withNova = machines.map((machine, at) =>
      views === undefined ? machine : { ...machine, nova: views[at] ?? null },
    );
    const all = trees.length === 0 ? withNova : await Promise.all(withNova.map(addBoot));
    await turn();
    yield { orphans, machines: all.map((machine) => ({ ...machine, findings: inspect(machine) })) };
  }
}

async function harvest(
  machine: Machine,
  trees: readonly Tree[],
  hosts: readonly HostConfig[],
): Promise<BootFile | undefined> {
  const { deleted, instance_uuid, pxe_config_path, service_host } = machine.node;
  if (deleted === true || !instance_uuid) return undefined;
  const tree = treeOf(trees, service_host);
  if (tree === null) return { kind: "no-tree" };
  const root = hostOf(machine, hosts)?.tftp_root ?? "/tftpboot";
  const configPath =
    typeof pxe_config_path === "string" && pxe_config_path !== ""
      ? pxe_config_path
      : `${instance_uuid}/config`;
  const path = inFolder(configPath, root, instance_uuid);
  if (path === null) return { kind: "refused", path: configPath, why: `is not below ${root}` };
  const content = await readText(tree, path);
  if (content.kind !== "text") return { ...content, path };
  const config = factsOf(content.text);
  const size = async (file: string | null | undefined): Promise<number | null> => {
    const at = file ? inFolder(file, root, instance_uuid) : null;
    return at === null ? null : sizeOf(tree, at);
  };
  const links = portsOf(machine).map(async ({ address }) => {
    const target = await readLink(tree, linkOf(address));
    const leads = target === null ? null : linkTarget(target, root, instance_uuid);
    return [address, leads ?? target] as const;
  });
  return {
    kind: "read",
    path,
    config,
    kernel: await size(config.boot?.kernel),
    ramdisk: await size(config.boot?.ramdisk),
    links: Object.fromEntries(await Promise.all(links)),
  };
}
