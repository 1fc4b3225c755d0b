import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { program } from "../../src/edge/disk/package-root.ts";
import { startIronic } from "../lab/ironic/start.ts";
import { startMariadb } from "../lab/mariadb.ts";
import { type Pair, paired } from "../node/fake-pair.ts";
import { command } from "./command.ts";
import { call, inFolder, judge, middle, timed, type Write, withEnds } from "./measure.ts";

/** Seconds of the processor, times of a bare loop, MiB, and times of the questions behind a 202. */
const LIMITS = { cpu: 0.5, wall: 1.3, rss: 150, accepted: 1.5 } as const;
const TURNS = 3;
const ASKED = 5;
/** Seconds between the reads that prove a source off. */
const INTERVAL = 1;
/** Seconds between two looks, as the tool's, and the middle of what it waits before it reads its marks again. */
const [LOOK, SETTLES] = [0.25, 1.5];
const VERSION = "X-OpenStack-Ironic-API-Version: 1.82";

/** A switchover on fake hardware against the same calls and waits of curl, in turns; then the service. */
export async function benchSwitchover(write: Write): Promise<void> {
  write("\nnode switchover, serve switchover\n");
  await inFolder((folder) =>
    withEnds(async (t) => {
      const server = await startMariadb("on disk");
      t.after(server.stop);
      const ironic = await startIronic(server);
      t.after(ironic.stop);
      const pairs: Pair[] = [];
      for (let at = 0; at < 2 * TURNS + ASKED; at += 1) pairs.push(await paired(ironic, at));
      await acting(pairs.splice(0, 2 * TURNS), ironic.url, folder, write);
      await serving(pairs, ironic.url, folder, write);
    }),
  );
}

async function acting(
  pairs: readonly Pair[],
  url: string,
  folder: string,
  write: Write,
): Promise<void> {
  const [bare, ours, cpu]: [number[], number[], number[]] = [[], [], []];
  for (const [at, pair] of pairs.entries())
    if (at % 2 === 0) bare.push(await timed(() => bareLoop(url, pair)));
    else {
      const own = ["--run", join(folder, `run-${at}`), "--ironic-url", url];
      const words = ["node", "switchover", pair.source, pair.spare, ...own];
      const ran = await command(folder, [...words, "--proof-interval", String(INTERVAL)]);
      ours.push(ran.seconds);
      cpu.push(ran.cpu ?? Number.NaN);
    }
  write(
    `  curl ${middle(bare).toFixed(1)} s, node switchover ${middle(ours).toFixed(1)} s, each with ${SETTLES + INTERVAL} s that are waited on purpose\n`,
  );
  judge(write, "CPU seconds of a switchover:", middle(cpu), LIMITS.cpu);
  judge(write, "times of a bare loop of curl:", middle(ours) / middle(bare), LIMITS.wall);
}

/** What is waited for until a 202, and what the service takes of memory while it works on all of them. */
async function serving(
  pairs: readonly Pair[],
  ironic: string,
  folder: string,
  write: Write,
): Promise<void> {
  const words = ["serve", "switchover", "--auth", "none", "--listen", "127.0.0.1:0"];
  const own = ["--state", join(folder, "state"), "--ironic-url", ironic];
  const child = spawn(
    process.execPath,
    [program(), ...words, ...own, "--proof-interval", String(INTERVAL)],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  try {
    let url: string | undefined;
    for (; url === undefined; await sleep(20)) {
      url = /listening on (\S+),/.exec(said)?.[1];
      if (child.exitCode !== null) throw new Error(said);
    }
    // The first of all opens connections.
    await call("GET", `${url}/v1/nodes/${pairs[0]?.source}/switchover`);
    const [theirs, mine]: [number[], number[]] = [[], []];
    for (const { source, spare } of pairs) {
      const questions = questionsOf(source, spare);
      theirs.push(
        await timed(async () => {
          for (const path of questions) await call("GET", `${ironic}${path}`);
        }),
      );
      const body = { target_node: spare };
      mine.push(
        await timed(async () => {
          const { status, text } = await call("PUT", `${url}/v1/nodes/${source}/switchover`, body);
          if (status !== 202) throw new Error(`${status} ${text}`);
        }),
      );
    }
    for (const { source } of pairs)
      for (;;) {
        const { text } = await call("GET", `${url}/v1/nodes/${source}/switchover`);
        if (/"state":"DONE"/.test(text)) break;
        if (/"error":"/.test(text)) throw new Error(text);
        await sleep(100);
      }
    const [low, high] = [middle(theirs) * 1000, middle(mine) * 1000];
    write(
      `  its questions ${low.toFixed(0)} ms, one after the other; 202 after ${high.toFixed(0)} ms\n`,
    );
    judge(write, "times of its questions until 202:", high / low, LIMITS.accepted);
    const peak = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"));
    judge(write, `MiB at most, ${pairs.length} at once:`, Number(peak?.[1]) / 1024, LIMITS.rss);
  } finally {
    child.kill("SIGTERM");
    if (child.exitCode === null) await once(child, "close");
  }
}

/** What the service asks Ironic before it accepts: each node, what hangs on it, and who else has its volumes. */
function questionsOf(source: string, spare: string): readonly string[] {
  const of = (node: string): readonly string[] => [
    `/v1/nodes/${node}`,
    ...["ports", "portgroups", "volume/connectors", "volume/targets"].map(
      (kind) => `/v1/${kind}?limit=1000&node=${node}`,
    ),
    `/v1/nodes/${node}`,
  ];
  return [
    ...of(source),
    ...of(spare),
    "/v1/volume/targets?limit=1000&fields=uuid,node_uuid,volume_id",
  ];
}

/** The calls of a switchover by curl, a process each: no journal, no comparison, no second try. */
async function bareLoop(
  url: string,
  { source, spare, instance, connector, target }: Pair,
): Promise<void> {
  const curl = async (method: string, path: string, body?: unknown): Promise<string> => {
    const sent =
      body === undefined
        ? []
        : ["-H", "Content-Type: application/json", "-d", JSON.stringify(body)];
    const words = [
      "-sSf",
      "--retry",
      "5",
      "--retry-all-errors",
      "--retry-delay",
      "1",
      "-X",
      method,
      "-H",
      VERSION,
    ];
    const { stdout } = await promisify(execFile)("curl", [...words, ...sent, `${url}${path}`]);
    return stdout;
  };
  const node = (uuid: string): string => `/v1/nodes/${uuid}`;
  const until = async (uuid: string, wanted: string): Promise<void> => {
    for (;;) {
      const text = await curl("GET", node(uuid));
      if (text.includes(wanted) && text.includes('"reservation": null')) return;
      await sleep(LOOK * 1000);
    }
  };
  const patch = (uuid: string, ...all: readonly (readonly [path: string, value: unknown])[]) =>
    curl(
      "PATCH",
      node(uuid),
      all.map(([path, value]) => ({ op: "add", path, value })),
    );
  const power = async (uuid: string, word: string): Promise<void> => {
    await curl("PUT", `${node(uuid)}/states/power`, { target: word });
    await until(uuid, '"power_state": "power off"');
  };
  const goes = async (uuid: string, word: string, state: string): Promise<void> => {
    await curl("PUT", `${node(uuid)}/states/provision`, { target: word });
    await until(uuid, `"provision_state": "${state}"`);
  };
  for (const one of [source, spare]) await patch(one, ["/extra/mark", "x"]);
  await sleep(SETTLES * 1000);
  await power(source, "soft power off");
  await sleep(INTERVAL * 1000);
  await power(source, "power off");
  await curl("PUT", `${node(source)}/maintenance`, { reason: "x" });
  await curl("PATCH", node(source), [{ op: "remove", path: "/instance_uuid" }]);
  await power(source, "power off");
  const move = [{ op: "replace", path: "/node_uuid", value: spare }];
  await curl("PATCH", `/v1/volume/connectors/${connector}`, move);
  await curl("PATCH", `/v1/volume/targets/${target}`, move);
  await curl("GET", `${node(source)}/vifs`);
  await patch(source, ["/name", `failed-${source.slice(-12)}`]);
  await patch(spare, ["/name", `was-${source.slice(-12)}`], ["/description", "a shop"]);
  await patch(spare, ["/automated_clean", false], ["/instance_uuid", instance]);
  await goes(spare, "provide", "available");
  await power(source, "power off");
  await goes(spare, "active", "active");
  const record = { uuid: instance, node: spare, resource_class: "gold" };
  await curl("POST", "/v1/allocations", record);
  await curl("GET", `${node(spare)}/validate`);
  await patch(source, ["/automated_clean", false]);
  await goes(source, "deleted", "available");
  for (const one of [spare, source])
    await curl("PATCH", node(one), [{ op: "remove", path: "/extra/mark" }]);
}
