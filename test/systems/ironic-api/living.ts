import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { execute } from "../../../src/engine/execute.ts";
import type { Leg, Session } from "../../../src/engine/part.ts";
import { ironicLeg, ironicPart } from "../../../src/migrate/apply/parts.ts";
import { loadMappings } from "../../../src/migrate/open/documents.ts";
import type { Entry } from "../../../src/model/journal.ts";
import type { Row } from "../../../src/model/machine.ts";
import type { PlannedMachine, PlannedRecord, Step } from "../../../src/model/plan.ts";
import { createSeal } from "../../../src/run/files/seal.ts";
import { rowsOf } from "../../../src/systems/ironic-api/body.ts";
import type { Failpoint } from "../../../src/systems/ironic-api/node.ts";
import { openService } from "../../../src/systems/ironic-api/service.ts";
import { createRestTarget } from "../../../src/systems/ironic-api/target.ts";
import { cloudOf } from "../../../src/systems/openstack/cloud.ts";
import type { Case } from "../../cases/case.ts";
import { writeCase } from "../../cases/write-case.ts";
import { runs } from "../../hostile/cli.ts";
import { privateFolder } from "../../hostile/deployment.ts";
import { acceptOf, FAKE_POWER } from "../../hostile/fleet.ts";
import { answerTo, noRows, says } from "../../manage/in-memory.ts";
import { faultyService, type Says } from "../../support/faulty-service.ts";

const DRIVERS = ["fake-hardware", "manual-management"];
const CONDUCTOR = { hostname: "a", conductor_group: "", alive: true, drivers: DRIVERS };
const SERVED: { readonly [call: string]: Says } = {
  "GET /v1/drivers": says(200, { drivers: DRIVERS.map((name) => ({ name, hosts: ["a"] })) }),
  "GET /v1/conductors": says(200, { conductors: [CONDUCTOR] }),
};

export async function livingIronic(t: TestContext) {
  const held = noRows();
  const ironic = await faultyService(t, {
    most: 82,
    answer: (call, sent) =>
      SERVED[call.split("?")[0] ?? ""] ?? answerTo(held, call, sent, undefined),
    // Those that change something.
    kept: (call) => !call.startsWith("GET "),
  });
  const { releases, rest } = await loadMappings();
  const cloud = cloudOf(new Map([["endpoint", ironic.url]]), "OS_*");
  const service = await openService(cloud, releases, rest, "2023.1", 5000);
  t.after(() => service.session.close());
  const seal = createSeal(randomBytes(32));
  return { ...ironic, ...held, seal, link: { service, rows: rowsOf(rest, service.minor, seal) } };
}

export type Living = Awaited<ReturnType<typeof livingIronic>>;

export const NODE = "e0000000-0000-4000-8000-000000000001";
export const PORT = "e0000000-0000-4000-8000-000000000002";

/** A tenant's machine with one port, as a plan has it. */
export function machineOf(more: Row = {}) {
  const node: Row = {
    ...{ uuid: NODE, driver: "fake-hardware", console_enabled: false },
    ...{ extra: { nova_bm: { id: 1 } }, provision_state: "active", maintenance: false },
    ...{ protected: true, protected_reason: "a tenant's", ...more },
  };
  const ports: Row[] = [{ uuid: PORT, node_uuid: NODE, address: "52:54:00:00:00:01", extra: {} }];
  return { uuid: NODE, node, ports };
}

/** What a stand-in says to GET, by path without its query; what is not there is an empty object. */
type Lists = { readonly [path: string]: () => object };

/** Drivers and one conductor that has them. */
export function conductor(driver: string, alive: () => boolean = () => true): Lists {
  const lab = { hostname: "lab", conductor_group: "", drivers: [driver] };
  return {
    "/v1/drivers": () => ({ drivers: alive() ? [{ name: driver, hosts: ["lab"] }] : [] }),
    "/v1/conductors": () => ({ conductors: [{ ...lab, alive: alive() }] }),
  };
}

/** Stands in for an Ironic 2023.1 that answers questions and refuses all else. */
export async function standIn(t: TestContext, lists: Lists): Promise<string> {
  const answer = (call: string): Says => {
    const [method, path = ""] = call.split(/[ ?]/);
    if (method !== "GET") return { status: 400, text: '{"error_message": "not today"}' };
    return { status: 200, text: JSON.stringify(lists[path]?.() ?? {}) };
  };
  return (await faultyService(t, { most: 82, answer })).url;
}

/** Extracts and plans machines for the service at this URL: one free machine unless others are given. */
export async function planOverRest(
  t: Pick<TestContext, "after">,
  url: string,
  given: Case = freeMachines(1),
  status = 0,
) {
  const folder = privateFolder(t);
  const at = ["--run", join(folder, "run")];
  const target = ["--ironic-url", url];
  const written = await writeCase(given, folder);
  await runs(0, ["extract", ...at, ...written.extract]);
  const planned = await runs(status, ["plan", ...at, ...target, ...written.plan, "-q"]);
  return { at, target, folder, planned };
}

/** Free machines nobody can switch, all of them accepted: they are adopted by a service that is alive. */
export function freeMachines(count: number): Case {
  return {
    shows: "free machines nobody can switch",
    nova_bm: { nodes: Array.from({ length: count }, (_, at) => ({ id: at + 1 })) },
    nova_conf: { "*": FAKE_POWER },
    site: {
      format: "nova2ironic/site@1",
      machines: [{ match: {}, accept: acceptOf("N2I-D604", "N2I-D605") }],
    },
    allow_pairing: true,
  };
}

const { rest: REST } = await loadMappings();

type Made = ReturnType<typeof machineOf>;

/** A plan of these machines; its journal is kept in memory. */
export function bothWays({ link, seal }: Living, machines: readonly Made[]) {
  const entries: Entry[] = [];
  const lines = machines.map(lineOf);
  async function* plan(): AsyncGenerator<readonly PlannedMachine[]> {
    yield lines;
  }
  const session: Session = {
    journal: { entries: () => [...entries], append: async (entry) => void entries.push(entry) },
    now: () => "2026-11-21T00:00:00Z",
    by: "a test",
    stopping: () => false,
  };
  const legOf = (failpoint: Failpoint | undefined): Leg<Step, PlannedMachine> => {
    const target = createRestTarget(link.service, REST, seal, { inFlight: 1 }, failpoint);
    return {
      ...ironicLeg(ironicPart(target), { sha256: "plan", lines: plan }),
      ...{ check: () => Promise.resolve(), precondition: () => Promise.resolve() },
    };
  };
  const only = { all: true, selects: () => true };
  return {
    journal: (): readonly Entry[] => entries,
    apply: (failpoint?: Failpoint) =>
      execute([legOf(failpoint)], session, { direction: "forward" }),
    rollback: (failpoint?: Failpoint) =>
      execute([legOf(failpoint)], session, { direction: "back", only }),
  };
}

function lineOf({ uuid, node, ports }: Made, at: number): PlannedMachine {
  const record = (resource: "node" | "port", row: PlannedRecord["row"]): PlannedRecord => ({
    ...{ resource, row, id: `${resource}:${String(row.uuid)}` },
    ...{ change: "create", origins: [] },
  });
  return {
    ...{ bm_node_id: at + 1, uuid, service_host: null, verdict: "create", reason: null },
    state: { row: "in use", outcome: "active" },
    records: [record("node", node), ...ports.map((row) => record("port", row))],
    findings: [],
  };
}
