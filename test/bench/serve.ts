import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { Agent, get } from "node:http";
import fc from "fast-check";
import { program } from "../../src/edge/disk/package-root.ts";
import { CLIENT_ANEW, startNovaApi } from "../lab/cloud/nova-api.ts";
import { startCloud } from "../lab/cloud/start.ts";
import { connect } from "../lab/connect.ts";
import { apiOf } from "../lab/ironic/api.ts";
import { copyNodes } from "../lab/ironic/rows.ts";
import { startIronic } from "../lab/ironic/start.ts";
import { startMariadb } from "../lab/mariadb.ts";
import { standInIronic, standInKeystone, uuidOf } from "../proxy/stand-ins.ts";
import { answerTo, requestHeads } from "../support/request-heads.ts";
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
/** Of real services, once warm. */
const [WARM, BESIDE] = [3, 20];
const LARGEST = 100_000;
const IDLE = 500;
const BROKEN = 100_000;
const LANES = 50;

type Write = (text: string) => void;
type Ends = Parameters<typeof standInIronic>[0];

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
  const ends: (() => unknown)[] = [];
  const t: Ends = { after: (end: unknown) => void ends.push(end as () => unknown) };
  try {
    await real(t, write);
    await besideNova(t, write);
    await standIns(t, write);
    await hostile(t, write);
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}

function judge(write: Write, what: string, value: number, limit: number): void {
  write(`  ${value <= limit ? "held  " : "MISSED"} ${what} ${value.toFixed(2)}, limit ${limit}\n`);
}

/** Lists of a real Ironic. */
async function real(t: Ends, write: Write): Promise<void> {
  const server = await startMariadb("on disk");
  t.after(server.stop);
  const ironic = await startIronic(server);
  if (ironic === null) return write("  there is no Ironic 2023.1 here\n");
  t.after(ironic.stop);
  const db = connect({ ...server, database: ironic.database });
  t.after(() => db.destroy());
  const properties = { cpus: 8, memory_mb: 4096, local_gb: 40, cpu_arch: "x86_64" };
  await apiOf(ironic)("POST", "/v1/nodes", { driver: "fake-hardware", properties });
  await copyNodes(db, NODES - 1);
  const at = await served(t, ["--auth", "none", "--ironic-url", ironic.url]);
  const [own, ours]: [number[], number[]] = [[], []];
  await timed(() => text(at.url));
  const before = at.cpu();
  for (let turn = 0; turn < TURNS; turn += 1) {
    own.push(await timed(() => pages(ironic.url)));
    ours.push(await timed(() => text(at.url)));
  }
  const cpu = (at.cpu() - before) / TURNS;
  const [theirs, mine] = [middle(own), middle(ours)];
  write(
    `  a list of ${NODES}: Ironic's detail pages ${theirs.toFixed(0)} ms, the proxy's ${mine.toFixed(0)} ms\n`,
  );
  judge(write, "times of Ironic's own:", mine / theirs, LIMITS.list);
  judge(write, "ms of the processor for a list:", cpu, LIMITS.listCpu);
}

/**
 * The same show by Nova's own proxy, before the same Keystone and Ironic: it makes a client and logs in
 * each time, which Keystone pays. Named, not judged.
 */
async function besideNova(t: Ends, write: Write): Promise<void> {
  const server = await startMariadb("in memory");
  t.after(server.stop);
  const cloud = await startCloud(server, { services: ["keystone"] });
  if (cloud === null) return write("  there is no Nova 26 here\n");
  t.after(cloud.stop);
  const { token, authtoken: keystone_authtoken } = cloud;
  const asked = { auth: "keystone", token, more: { keystone_authtoken } } as const;
  const ironic = await startIronic(server, asked);
  if (ironic === null) return write("  there is no Ironic 2023.1 here\n");
  t.after(ironic.stop);
  const made = await apiOf(ironic)("POST", "/v1/nodes", { driver: "fake-hardware" });
  // Ironic's own form.
  const { uuid } = made.body as { readonly uuid: string };
  const nova = await startNovaApi(cloud, ironic.url);
  t.after(nova.stop);
  const keystone = ["--keystone-url", cloud.env.OS_AUTH_URL ?? ""];
  const own = await served(t, [...keystone, "--ironic-url", ironic.url]);
  const anew = { "X-Auth-Token": token, ...CLIENT_ANEW };
  const paid = (): number => cpuAt(cloud.env.OS_AUTH_URL);
  const theirs = await shows(`${nova.url}/v2.1/os-baremetal-nodes/${uuid}`, anew, [
    () => cpuAt(nova.url),
    paid,
  ]);
  const ours = await shows(`${own.url}/${uuid}`, anew, [own.cpu, paid]);
  for (const [who, [cpu, keystone, time]] of [
    ["Nova 26's own proxy", theirs],
    ["this one", ours],
  ] as const)
    write(
      `  a show by ${who}: ${cpu} ms of the processor, ${keystone} of Keystone's, ${time} ms in all\n`,
    );
}

/** Milliseconds of the processor that the one has taken whose command line has this URL's port. */
function cpuAt(url = ""): number {
  const { port } = new URL(url);
  const pids = readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0").includes(port);
    } catch {
      // It has ended meanwhile.
      return false;
    }
  });
  return pids.reduce((sum, pid) => sum + secondsOf(Number(pid)) * 1000, 0);
}

/** @returns milliseconds of one: of each of the processors, and in all */
async function shows(
  url: string,
  headers: Headers,
  processors: readonly (() => number)[],
): Promise<readonly string[]> {
  const one = async (): Promise<void> => {
    const said = await text(url, KEPT, headers);
    if (!/^\{"node": ?\{/.test(said)) throw new Error(said);
  };
  for (let turn = 0; turn < WARM; turn += 1) await one();
  const before = processors.map((cpu) => cpu());
  const times: number[] = [];
  for (let turn = 0; turn < BESIDE; turn += 1) times.push(await timed(one));
  const taken = processors.map((cpu, at) => (cpu() - (before[at] ?? 0)) / BESIDE);
  return [...taken, middle(times)].map((value) => value.toFixed(0));
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
    direct.push(await timed(both));
    through.push(await timed(() => text(url)));
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

/** The same ones every time. */
async function brokenHeads(url: string, count: number): Promise<void> {
  const { origin, pathname } = new URL(url);
  const paths = [pathname, `${pathname}/${uuidOf(1)}`, "/v2/servers"];
  const heads = fc.array(requestHeads(paths), { minLength: LANES, maxLength: LANES });
  const answered = async (sent: readonly Buffer[]): Promise<void> => {
    for (const answer of await Promise.all(sent.map((head) => answerTo(origin, head))))
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

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

const KEPT = new Agent({ keepAlive: true });

function text(url: string, agent = KEPT, headers: Headers = HEADERS): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers }, (response) => {
      let all = "";
      response.setEncoding("utf8").on("data", (more: string) => {
        all += more;
      });
      response.on("end", () => resolve(all)).on("error", reject);
    }).on("error", reject);
  });
}

type Headers = { readonly [name: string]: string };
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

function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
