import { createHash } from "node:crypto";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { createArtefact } from "../../src/edge/disk/artefact-writer.ts";
import { createPlan } from "../../src/edge/disk/plan-folder.ts";
import { openRun, type RunFolder } from "../../src/edge/disk/run-folder.ts";
import { MACHINES } from "../../src/model/nova-plan.ts";
import { openPlan, openSnapshot } from "../../src/stages/run.ts";
import { chromiumPath } from "../lab/chromium.ts";
import { fleet } from "../support/fleet.ts";
import { planned, withCase } from "../support/planned-case.ts";
import { command } from "./command.ts";
import { inFolder, judge, type Write } from "./measure.ts";

const SIZES = [300, 20_000, 100_000];
/** MB of the page, MiB to make it, and seconds until it can be used, each at a number of machines. */
const LIMITS = { file: 40, rss: 400, ready: { machines: 20_000, seconds: 5 } } as const;

/** Machines that are planned for real; the others are made of them. */
const KINDS = 240;

/**
 * The page of large runs: what it takes to make one, how large it is, and how long a browser needs until
 * it can be used. The runs are a small plan over and over, each machine with names of its own.
 */
export async function benchPage(sizes: readonly number[], write: Write): Promise<void> {
  write(
    "\nthe report as a page\n   machines   file MB   make s    cpu s  peak MiB  ready s  filter ms  heap MB\n",
  );
  await inFolder(async (folder) => {
    for (const machines of sizes.length > 0 ? sizes : SIZES) {
      const run = await openRun(join(folder, `run-${machines}`), { create: true });
      await makeRun(run, machines);
      const cost = await command(folder, ["report", "--run", run.path]);
      const file = join(run.path, "report.html");
      const size = statSync(file).size / 1e6;
      const shown = await timesOf(file);
      const cells = [
        ...[size.toFixed(1), cost.seconds.toFixed(1), (cost.cpu ?? 0).toFixed(1)],
        ...[(cost.rss ?? 0).toFixed(0), ...shown.map((one) => one.toFixed(1))],
      ];
      write(`  ${String(machines).padStart(9)} ${cells.map((one) => one.padStart(9)).join("")}\n`);
      judge(write, "MB of the page:", size, LIMITS.file);
      judge(write, "MiB to make it:", cost.rss ?? 0, LIMITS.rss);
      if (machines <= LIMITS.ready.machines)
        judge(write, "seconds until it can be used:", shown[0] ?? 0, LIMITS.ready.seconds);
      rmSync(run.path, { recursive: true });
    }
  });
}

/** A run of so many machines: its snapshot and its plan. */
function makeRun(run: RunFolder, machines: number): Promise<void> {
  return withCase(fleet(KINDS), async (at) => {
    await planned(at);
    const source = await openSnapshot(join(at.run.path, "snapshot.jsonl"));
    const from = await openPlan(join(at.run.path, "plan"));
    const snapshot = await createArtefact(run, "snapshot.jsonl", source.header);
    for await (const line of copies(source.lines(), machines)) await snapshot.write(line);
    const { sha256 } = await snapshot.finish({ ...source.footer.footer, machines });
    const plan = await createPlan(run);
    const { origins, ...header } = from.header;
    const format = "nova2ironic/machines@1";
    const writer = await plan.begin(MACHINES, { format, ...{ origins } });
    for await (const line of copies(from.lines(), machines)) await writer.write(line);
    const { footer: counts } = from.footer;
    const times = (count: number): number => Math.round((count * machines) / counts.machines);
    const { verdicts, findings } = counts;
    const all = (some: object) =>
      Object.fromEntries(Object.entries(some).map(([name, count]) => [name, times(count)]));
    await plan.finish(
      {
        ...{ ...header, made_from: { ...header.made_from, snapshot: sha256 }, nova: null },
        counts: {
          ...{ machines, nodes: times(counts.nodes), ports: times(counts.ports) },
          // The names stay.
          ...{ verdicts: all(verdicts) as unknown as typeof verdicts, findings: all(findings) },
        },
      },
      async () => {},
    );
  });
}

/** Lines over and over: uuids, addresses and ids of each machine are its own, and of no order. */
async function* copies(
  lines: AsyncIterable<readonly object[]>,
  machines: number,
): AsyncGenerator<string> {
  const texts: string[] = [];
  for await (const batch of lines) for (const line of batch) texts.push(JSON.stringify(line));
  for (let at = 0; at < machines; at += 1) {
    const digest = createHash("md5").update(String(at)).digest("hex");
    const uuid = `0000000-0000-4000-8000-${digest.slice(0, 12)}`;
    yield (texts[at % texts.length] ?? "")
      .replaceAll(
        /(?<="|:)([a-f])0000000-0000-4000-8000-[0-9a-f]{12}/g,
        (_, kind) => `${kind}${uuid}`,
      )
      .replaceAll(/"(bm_node_id|id)":\d+/g, `"$1":${at + 1}`)
      .replaceAll(/"10\.0\.\d+\.\d+"/g, `"10.${at >> 16}.${(at >> 8) & 255}.${at & 255}"`)
      .replaceAll(
        /52:54:(..):..:..:../g,
        `52:54:$1:${digest.slice(0, 2)}:${digest.slice(2, 4)}:${digest.slice(4, 6)}`,
      )
      .replaceAll(/tenant-\d+/g, `tenant-${at + 1}`);
  }
}

/** Seconds until the page can be used, milliseconds a search takes, MB of its heap. */
async function timesOf(file: string): Promise<readonly number[]> {
  const browser = await chromium.launch({ executablePath: chromiumPath(), args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(120_000);
    const began = performance.now();
    await page.goto(`file://${file}`);
    await page.waitForSelector("html[data-ready]");
    const ready = (performance.now() - began) / 1000;
    return [ready, await searchTime(page), await heapOf(page)];
  } finally {
    await browser.close();
  }
}

/** Of the second search: the first one makes what is searched. */
async function searchTime(page: Page): Promise<number> {
  const search = `(text) => {
    const field = document.getElementById("search");
    field.value = text;
    const began = performance.now();
    field.dispatchEvent(new Event("input", { bubbles: true }));
    return performance.now() - began;
  }`;
  await page.evaluate(`(${search})("tenant-7")`);
  return page.evaluate<number>(`(${search})("tenant-77")`);
}

function heapOf(page: Page): Promise<number> {
  return page.evaluate<number>("performance.memory.usedJSHeapSize / 1e6");
}
