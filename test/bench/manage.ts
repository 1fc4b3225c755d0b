import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";
import type { Knex } from "knex";
import type { JsonObject } from "../../src/lib/json.ts";
import { connect } from "../lab/connect.ts";
import { apiOf } from "../lab/ironic/api.ts";
import { copyNodes } from "../lab/ironic/rows.ts";
import { startIronic } from "../lab/ironic/start.ts";
import { startMariadb } from "../lab/mariadb.ts";
import { macOf } from "../manage/in-memory.ts";
import { listening } from "../support/listening.ts";
import { command } from "./command.ts";
import { type Ends, inFolder, judge, said, timed, type Write, withEnds } from "./measure.ts";

/** MiB at most, and the least part of the rate of a bare loop. */
const LIMITS = { rss: 250, rate: 0.9 } as const;
const CARDS = 2;
const LARGEST = 50_000;
const PAGE = 1000;
/** So many that the start of a process counts for little. */
const MANAGED = 300;
const ROUNDS = 3;
/** Calls, and machines, at once: `--in-flight` as it is unless given, and twice as many. */
const PARALLEL = [4, 8];

/** The memory of a long list of adoptable nodes, and the rate of allocations against a bare loop of the POST. */
export async function benchManage(write: Write): Promise<void> {
  write("\nnode list --adoptable, node manage\n");
  await inFolder((folder) => withEnds((t) => real(t, folder, write)));
}

async function real(t: Ends, folder: string, write: Write): Promise<void> {
  const server = await startMariadb("on disk");
  t.after(server.stop);
  const ironic = await startIronic(server);
  t.after(ironic.stop);
  const db = connect({ ...server, database: ironic.database });
  t.after(() => db.destroy());
  const properties = { cpus: 8, memory_mb: 4096, local_gb: 40, cpu_arch: "x86_64" };
  const asked = { driver: "fake-hardware", resource_class: "gold", properties };
  await apiOf(ironic)("POST", "/v1/nodes", asked);
  await copyNodes(db, MANAGED - 1);
  await db("nodes").update({ provision_state: "active", power_state: "power on" });
  await many(t, folder, ironic.url, write);
  await managed(db, folder, ironic.url, write);
}

/** What as many nodes as the largest fleet has cost, in front of pages of what a real one tells. */
async function many(t: Ends, folder: string, from: string, write: Write): Promise<void> {
  const read = async (path: string): Promise<JsonObject> =>
    JSON.parse(await said("GET", `${from}${path}`)) as JsonObject;
  const [node] = (await read("/v1/nodes?limit=1&detail=true")).nodes as readonly JsonObject[];
  const { ironic, neutron } = await standIns(t, JSON.stringify(node), String(node?.uuid));
  process.env.OS_NETWORK_ENDPOINT_OVERRIDE = neutron;
  const words = ["node", "list", "--adoptable", "--ironic-url", ironic, "-f", "csv"];
  const { rss, cpu, seconds } = await command(folder, words);
  write(
    `  ${LARGEST} nodes, ${LARGEST * CARDS} cards: ${cpu?.toFixed(2)} s of the processor, ${seconds.toFixed(1)} s in all\n`,
  );
  judge(write, `MiB at most with ${LARGEST} nodes:`, rss ?? Number.NaN, LIMITS.rss);
}

/** Records of a fleet on fake hardware, without ports of tenants, against one POST each. */
async function managed(db: Knex, folder: string, url: string, write: Write): Promise<void> {
  const uuids = (await db("nodes").select("uuid").orderBy("id")).map(({ uuid }) => String(uuid));
  const free = async (): Promise<void> => {
    await db("nodes").update({
      instance_uuid: null,
      allocation_id: null,
      instance_info: "{}",
      extra: "{}",
    });
    await db("allocations").delete();
  };
  const file = join(folder, "machines.csv");
  writeFileSync(file, ["node,name", ...uuids.map((uuid, at) => `${uuid},m-${at}`)].join("\n"));
  const [bare, ours]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < ROUNDS; turn += 1)
    for (const parallel of PARALLEL) {
      bare.push(MANAGED / (await timed(() => posted(url, uuids, parallel))));
      await free();
      const run = join(folder, `run-${turn}-${parallel}`);
      const words = ["node", "manage", "--from", file, "--run", run, "--ironic-url", url];
      const ran = await command(folder, [...words, "--in-flight", String(parallel)]);
      ours.push(MANAGED / ran.seconds);
      await free();
    }
  // Ironic's rate differs by a third from turn to turn: the fastest of as many is compared.
  const [best, own] = [bare, ours].map((rates) => Math.max(...rates)) as [number, number];
  write(
    `  ${MANAGED} machines: ${best.toFixed(1)} POSTs a second, manage ${own.toFixed(1)} machines\n`,
  );
  const ratio = own / best;
  write(
    `  ${ratio >= LIMITS.rate ? "held  " : "MISSED"} of the bare loop's rate: ${ratio.toFixed(2)}, limit ${LIMITS.rate}\n`,
  );
}

/** One POST a machine, and nothing else. */
async function posted(url: string, uuids: readonly string[], parallel: number): Promise<void> {
  const waiting = [...uuids];
  const worker = async (): Promise<void> => {
    for (let node = waiting.shift(); node !== undefined; node = waiting.shift()) {
      const uuid = randomUUID();
      const body = { node, resource_class: "gold", uuid, name: `a-${uuid}` };
      await said("POST", `${url}/v1/allocations`, body);
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
}

/** Ironic and Neutron of the largest fleet, whose every node is as this one. */
async function standIns(t: Ends, text: string, uuid: string) {
  /** A page of so many things, each by its number from 1 on. */
  const page = (path: string, of: number, make: (at: number) => string) => {
    const { searchParams: asked } = new URL(path, "http://cloud");
    const from = Number(asked.get("marker")?.slice(-12) ?? 0);
    const length = Math.min(PAGE, Number(asked.get("limit") ?? PAGE), of - from);
    const made = Array.from({ length }, (_, at) => make(from + at + 1));
    return { made: made.join(), more: from + length < of };
  };
  const cards = LARGEST * CARDS;
  const ironic = await serve(t, (path, answer) => {
    if (path.startsWith("/v1/portgroups")) return answer.end('{"portgroups":[]}');
    const [kind, of, make] = path.startsWith("/v1/nodes")
      ? (["nodes", LARGEST, (at: number) => text.replaceAll(uuid, numbered("a", at))] as const)
      : (["ports", cards, cardOf] as const);
    const { made, more } = page(path, of, make);
    return answer.end(`{"${kind}":[${made}]${more ? ',"next":"more"' : ""}}`);
  });
  const neutron = await serve(t, (path, answer) => {
    const { made, more } = page(path, cards, portOf);
    const links = more ? ',"ports_links":[{"rel":"next","href":"http://neutron/"}]' : "";
    return answer.end(`{"ports":[${made}]${links}}`);
  });
  return { ironic, neutron };
}

/** A uuid that ends with a number. */
function numbered(letter: string, at: number): string {
  return `${letter.repeat(8)}-0000-4000-8000-${String(at).padStart(12, "0")}`;
}

function cardOf(at: number): string {
  const node_uuid = numbered("a", Math.ceil(at / CARDS));
  const internal_info = { tenant_vif_port_id: numbered("c", at) };
  const card = { uuid: numbered("b", at), address: macOf(at), extra: {}, internal_info, node_uuid };
  return JSON.stringify(card);
}

function portOf(at: number): string {
  const owner = { device_id: numbered("a", Math.ceil(at / CARDS)), device_owner: "baremetal:none" };
  return JSON.stringify({ id: numbered("c", at), mac_address: macOf(at), ...owner });
}

async function serve(
  t: Ends,
  give: (path: string, answer: ServerResponse) => unknown,
): Promise<string> {
  const server = createServer((asked, answer) => {
    answer.setHeader("X-OpenStack-Ironic-API-Minimum-Version", "1.1");
    answer.setHeader("X-OpenStack-Ironic-API-Maximum-Version", "1.82");
    const version = asked.headers["x-openstack-ironic-api-version"];
    if (version !== undefined) answer.setHeader("X-OpenStack-Ironic-API-Version", version);
    give(asked.url ?? "/", answer);
  });
  return listening(t, server);
}
