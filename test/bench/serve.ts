import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Agent, get } from "node:http";
import fc from "fast-check";
import { program } from "../../src/run/files/package-root.ts";
import { connect } from "../lab/connect.ts";
import { apiOf } from "../lab/ironic/api.ts";
import { copyNodes } from "../lab/ironic/rows.ts";
import { startIronic } from "../lab/ironic/start.ts";
import { startMariadb } from "../lab/mariadb.ts";
import { standInIronic, standInKeystone, uuidOf } from "../proxy/stand-ins.ts";
import { answerTo, requestHeads } from "../support/request-heads.ts";
import { type Ends, judge, middle, timed, type Write, withEnds } from "./measure.ts";
import { secondsOf } from "./processor.ts";

/** Milliseconds, MiB, and times of Ironic's own. */
const LIMITS = {
  list: 1,
  listCpu: 60,
  showCpu: 3,
  added: 5,
  peak: 120,
  idle: 150,
  grown: 10,
} as const;
const NODES = 2000;
const TURNS = 9;
const SHOWS = 500;
const LARGEST = 100_000;
const IDLE = 500;
const BROKEN = 100_000;
const LANES = 50;

interface Served {
  readonly url: string;
  /** Milliseconds of the processor, user and system. */
  readonly cpu: () => number;
  /** MiB: the most it ever had, and now. */
  readonly peak: () => number;
  readonly now: () => number;
}

/**
 * The proxy as an operator runs it: a list against Ironic's own, both from the same Ironic in turns; what a
 * request costs it, and what many nodes and many connections cost, in front of stand-ins.
 */
export async function benchServe(write: Write): Promise<void> {
  write("\nserve proxy\n");
  await withEnds(async (t) => {
    await real(t, write);
    await standIns(t, write);
    await hostile(t, write);
  });
}

async function real(t: Ends, write: Write): Promise<void> {
  const server = await startMariadb("on disk");
  t.after(server.stop);
  const ironic = await startIronic(server);
  t.after(ironic.stop);
  const db = connect({ ...server, database: ironic.database });
  t.after(() => db.destroy());
  const properties = { cpus: 8, memory_mb: 4096, local_gb: 40, cpu_arch: "x86_64" };
  await apiOf(ironic)("POST", "/v1/nodes", { driver: "fake-hardware", properties });
  await copyNodes(db, NODES - 1);
  const at = await served(t, ["--auth", "none", "--ironic-url", ironic.url]);
  const [own, ours]: [number[], number[]] = [[], []];
  await took(() => text(at.url));
  const before = at.cpu();
  for (let turn = 0; turn < TURNS; turn += 1) {
    own.push(await took(() => pages(ironic.url)));
    ours.push(await took(() => text(at.url)));
  }
  const cpu = (at.cpu() - before) / TURNS;
  const [theirs, mine] = [middle(own), middle(ours)];
  write(
    `  a list of ${NODES}: Ironic's detail pages ${theirs.toFixed(0)} ms, the proxy's ${mine.toFixed(0)} ms\n`,
  );
  judge(write, "times of Ironic's own:", mine / theirs, LIMITS.list);
  judge(write, "ms of the processor for a list:", cpu, LIMITS.listCpu);
}

async function standIns(t: Ends, write: Write): Promise<void> {
  const keystone = await standInKeystone(t);
  keystone.tokens.set("admin", { roles: ["admin"] });
  const ironic = await standInIronic(t, LARGEST);
  const words = ["--keystone-url", keystone.url, "--ironic-url", ironic.url];
  const one = await served(t, words);
  const url = `${one.url}/${uuidOf(7)}`;
  const two = [`/v1/nodes/${uuidOf(7)}`, `/v1/ports?node=${uuidOf(7)}`];
  for (let turn = 0; turn < SHOWS; turn += 1) await text(url);
  const before = one.cpu();
  const [direct, through]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < SHOWS; turn += 1) {
    const both = async (): Promise<void> => {
      for (const path of two) await text(`${ironic.url}${path}`);
    };
    direct.push(await took(both));
    through.push(await took(() => text(url)));
  }
  judge(write, "ms of the processor for a show:", (one.cpu() - before) / SHOWS, LIMITS.showCpu);
  judge(
    write,
    "ms a show takes beyond its two calls:",
    middle(through) - middle(direct),
    LIMITS.added,
  );
  const large = await served(t, words);
  await drained(large.url);
  judge(write, `MiB at most with ${LARGEST} nodes:`, large.peak(), LIMITS.peak);
  const idle = await served(t, words);
  const agent = new Agent({ keepAlive: true, maxSockets: IDLE, maxFreeSockets: IDLE });
  t.after(() => agent.destroy());
  await Promise.all(Array.from({ length: IDLE }, () => text(`${idle.url}/`, agent)));
  judge(write, `MiB with ${IDLE} idle connections:`, idle.now(), LIMITS.idle);
}

/** Heads that are requests, or nearly so: what they leave behind in memory. */
async function hostile(t: Ends, write: Write): Promise<void> {
  const keystone = await standInKeystone(t);
  keystone.tokens.set("admin", { roles: ["admin"] });
  const ironic = await standInIronic(t, 3);
  const at = await served(t, ["--keystone-url", keystone.url, "--ironic-url", ironic.url]);
  await brokenHeads(at.url, BROKEN / 5);
  const before = at.now();
  await brokenHeads(at.url, BROKEN);
  judge(write, `MiB more after ${BROKEN} heads of requests:`, at.now() - before, LIMITS.grown);
}

/** Turns of the event loop, which are some 25 ms: the answers come from another process. */
const QUIET = 2000;

/** The same ones every time. */
async function brokenHeads(url: string, count: number): Promise<void> {
  const { origin, pathname } = new URL(url);
  const paths = [pathname, `${pathname}/${uuidOf(1)}`, "/v2/servers"];
  const heads = fc.array(requestHeads(paths), { minLength: LANES, maxLength: LANES });
  const answered = async (sent: readonly Buffer[]): Promise<void> => {
    for (const answer of await Promise.all(sent.map((head) => answerTo(origin, head, QUIET))))
      if (!/^(HTTP\/1\.1 \d{3} |$)/.test(answer)) throw new Error(`no answer: ${answer}`);
  };
  const runs = { numRuns: count / LANES, seed: 7 };
  await fc.assert(fc.asyncProperty(heads, answered), runs);
}

/** The program itself, on a free port; it ends with the bench. */
async function served(t: Ends, words: readonly string[]): Promise<Served> {
  const told = ["serve", "proxy", "--quiet", "--listen", "127.0.0.1:0", ...words];
  const child = spawn(process.execPath, [program(), ...told], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  t.after(() => child.kill("SIGKILL"));
  let said = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding("utf8").on("data", (more: string) => {
      said += more;
      const [, found] = /listening on (\S+), /.exec(said) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.on("exit", () => reject(new Error(said)));
  });
  const of = (file: string): string => readFileSync(`/proc/${child.pid}/${file}`, "utf8");
  const kib = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(of("status"))?.[1]);
  return {
    url: `${url}/v2.1/os-baremetal-nodes`,
    cpu: () => secondsOf(child.pid ?? 0) * 1000,
    peak: () => kib("VmHWM") / 1024,
    now: () => kib("VmRSS") / 1024,
  };
}

/** Milliseconds. */
async function took(work: () => Promise<unknown>): Promise<number> {
  return 1000 * (await timed(work));
}

const KEPT = new Agent({ keepAlive: true });

function text(url: string, agent = KEPT): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: HEADERS }, (response) => {
      let all = "";
      response.setEncoding("utf8").on("data", (more: string) => {
        all += more;
      });
      response.on("end", () => resolve(all)).on("error", reject);
    }).on("error", reject);
  });
}

const HEADERS = { "X-Auth-Token": "admin", "X-OpenStack-Ironic-API-Version": "1.82" };

/** Read as fast as it comes, and kept nowhere. */
function drained(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { agent: KEPT, headers: HEADERS }, (response) => {
      response.resume().on("end", resolve).on("error", reject);
    }).on("error", reject);
  });
}

/** Every page of Ironic's own list, each after the one before it. */
async function pages(url: string): Promise<void> {
  for (let next: string | undefined = `${url}/v1/nodes/detail?limit=1000`; next !== undefined; )
    // Ironic's own form.
    next = (JSON.parse(await text(next)) as { readonly next?: string }).next;
}
