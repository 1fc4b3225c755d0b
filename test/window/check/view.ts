import type { ServerIdentity } from "../../../src/model/artefact.ts";
import type {
  BmFacts,
  CheckVerdict,
  CheckView,
  IronicFacts,
  LineFacts,
  NovaFacts,
  PlanFacts,
} from "../../../src/model/check.ts";

/** By the title of a row: how the view differs from a ready one, and the row's result and details. */
export interface CheckCases {
  readonly [title: string]: readonly (readonly [Partial<CheckView>, CheckVerdict, RegExp])[];
}

type CheckCase = CheckCases[string][number];
const told =
  (verdict: CheckVerdict) =>
  (change: Partial<CheckView>, says: RegExp): CheckCase => [change, verdict, says];
export const [fails, warns, passes] = [told("Failure"), told("Warning"), told("Success")];

const MAY = { statements: [], grants: [], missing: [] };
/** A user who may not make a statement, and what is said against that. */
export const mayNot = (statement: string) => ({
  statements: [statement],
  grants: [`GRANT ${statement.replace(" ", " ON ")} TO tool`],
  missing: [],
});

export const [NODE, INSTANCE] = ["a-1", "b-1"];
export const BM = {
  ...{ version: 10 },
  nodes: [
    { id: 1, uuid: NODE, service_host: "c-1", instance_uuid: INSTANCE, task_state: "active" },
    { id: 2, uuid: "a-2", service_host: "c-1", instance_uuid: null, task_state: null },
  ],
} satisfies BmFacts;
export const BEAT = { id: 1, host: "c-1", report_count: 10, last_seen_up: null };
export const TENANT = {
  ...{ uuid: INSTANCE, host: "c-1", node: NODE, vm_state: "active", task_state: null },
  ...{ deleted: false, image: "i-1" },
};
export const NOVA: NovaFacts = {
  ...{ version: 254, instances: [TENANT], volumes: [], evacuations: [], flavors: [] },
  ...{ beats: [BEAT], later: [BEAT], queued: [], unqueued: null, aggregates: [], forbidden: MAY },
};
export const LOADED = {
  ...{ uuid: NODE, instance_uuid: INSTANCE, maintenance: false, staged: false },
  ...{ power_state: "power on", marked: true },
};
export const IRONIC: IronicFacts = {
  ...{ release: "juno", stages: false, forbidden: MAY },
  ...{ conductors: [], keys: [], nodes: [] },
  ...{ local: false, flavored: true, clustered: true, cells: false },
};
export const LINE = {
  ...{ id: 1, uuid: NODE, instance_uuid: INSTANCE, host: "c-1", blocked: false },
  findings: new Map<string, boolean>(),
};
export const HERE: ServerIdentity = {
  ...{ engine: "mysql", address: "db:3306", database: "nova" },
  ...{ version: "10.11", server: "1" },
};
const MACHINES: readonly LineFacts[] = [LINE, { ...LINE, id: 2, uuid: "a-2", instance_uuid: null }];
export const PLAN: PlanFacts = {
  applies: {
    ...{ loads: 2, existing: 0, blocked: [], conflicts: [], skipsBlocked: false, fresh: true },
    readings: { same: true, minutes: 3 },
  },
  ...{ madeFor: new Map([["--nova-db", HERE]]), machines: MACHINES, skipped: new Set() },
  ...{ allowOtherNodes: false, ports: 4, takeOvers: 1, paired: false, release: "juno" },
  ...{ traits: false, images: new Set(["new"]), made: new Set(), nova: null },
};
export const READY: CheckView = {
  ...{ watched: 60, pace: null },
  pairing: { allowed: "rule", why: "nova 254, nova_bm 10, ironic juno", requested: false },
  ...{ ...server(40), bm: BM, nova: NOVA, ironic: IRONIC, plan: PLAN, api: null, glance: null },
  ...{ loadedNodes: new Set(), placement: null, computes: new Map(), classless: new Set() },
  run: { path: "/srv/m1", is: "run", free: 1e12 },
};
export const ALIVE = { hostname: "cond-1", group: "", alive: true, drivers: [] };
export const [HEAD, GRANT] = ["N2I-E204", "N2I-E206"].map((code) => ({
  refused: { code, message: "the reason", fix: "the way out" },
}));

export const nova = (more: Partial<NovaFacts>) => ({ nova: { ...NOVA, ...more } });
export const ironic = (more: Partial<IronicFacts>) => ({ ironic: { ...IRONIC, ...more } });
export const node = (more: Partial<BmFacts["nodes"][number]>) => ({
  bm: { ...BM, nodes: BM.nodes.map((row) => (row.id === 2 ? { ...row, ...more } : row)) },
});
export function server(skew: number, wsrep = {}, clear = false) {
  const who = { option: "--nova-db", label: "mysql://nova@db1/nova", identity: HERE };
  return { servers: [{ ...who, clear, skew, wsrep }] };
}

export const plan = (more: Partial<PlanFacts>) => ({ plan: { ...PLAN, ...more } });
export const line = (more: Partial<LineFacts>) =>
  plan({ machines: MACHINES.map((one) => (one.uuid === NODE ? { ...one, ...more } : one)) });
export const SPEC = { step: "specs:4", id: 3, flavor: "baremetal", value: "old" };
export const MOVED = {
  ...{ movedTo: new Map(), hosts: ["c-9"], stopped: ["c-1", "c-9"] },
  ...{ flavors: new Set(["specs:4"]), moves: new Map([["c-1", new Set(["c-9"])]]) },
  ...{ joins: [], statements: new Map(), api: new Map() },
};
export const API = {
  ...{ mapped: new Set<string>(), cellless: new Set<string>(), flavorIds: new Set<number>() },
  ...{ aggregates: null, forbidden: MAY, flavors: [] },
};
export const RACK = { aggregates: [{ host: "c-1", id: 3, name: "rack7" }] };
export const LATER = { ...IRONIC, release: "zed", cells: true, flavored: false, clustered: false };

type PlannedNova = NonNullable<PlanFacts["nova"]>;

/** Nova's instances, each like TENANT but for this. */
export const tenants = (...all: readonly Partial<NovaFacts["instances"][number]>[]) =>
  nova({ instances: all.map((more) => ({ ...TENANT, ...more })) });
export const later = (more: Partial<NovaFacts["beats"][number]>) =>
  nova({ later: [{ ...BEAT, ...more }] });
export const loaded = (more: Partial<IronicFacts["nodes"][number]> = {}) =>
  ironic({ nodes: [{ ...LOADED, ...more }] });
export const moved = (more: Partial<PlannedNova> = {}) => plan({ nova: { ...MOVED, ...more } });
/** The machine in use has this finding, open or accepted. */
export const found = (code: string, accepted: boolean, more: Partial<LineFacts> = {}) =>
  line({ findings: new Map([[code, accepted]]), ...more });
