import type { PlanFacts } from "../../../src/model/check.ts";
import {
  API,
  BEAT,
  BM,
  type CheckCases,
  fails,
  found,
  HEAD,
  INSTANCE,
  LATER,
  LINE,
  later,
  line,
  loaded,
  MOVED,
  mayNot,
  moved,
  NODE,
  NOVA,
  node,
  nova,
  PLAN,
  passes,
  plan,
  RACK,
  SPEC,
  TENANT,
  tenants,
  warns,
} from "./view.ts";

const UNPLACED = { allocated: new Map(), providers: [] };
const AT_402 = nova({ version: 402 });

const applies = (more: Partial<PlanFacts["applies"]>) =>
  plan({ applies: { ...PLAN.applies, ...more } });

/** Nova of Newton, whose aggregates are in nova_api. */
const NEWTON = { ...NOVA, version: 334 };
const placed = (...on: readonly { uuid: string; name: string }[]) => ({
  allocated: new Map([[INSTANCE, on]]),
  providers: [{ uuid: "p-1", name: NODE }],
});

const MOVE = { nova: { ...MOVED, movedTo: new Map([[INSTANCE, { host: "c-9", node: NODE }]]) } };
const GOES = { ...LINE, host: "c-9" };
const OLD_NOVA = nova({ evacuations: null, instances: [{ ...TENANT, host: "c-9" }] });
const ROW = { id: 2, uuid: "a-2", service_host: "c-2", instance_uuid: "b-2", task_state: "active" };
const QUEUED = nova({ queued: [{ instance: "b-1", text: "stop of some time waits" }] });
const POWERING = { ...TENANT, task_state: "powering-off" };
const PAIR = {
  bm: { ...BM, nodes: [...BM.nodes.slice(0, 1), ROW] },
  ...plan({ machines: [LINE, { ...LINE, uuid: "a-2", instance_uuid: "b-2", host: "c-2" }] }),
};
const TWO = nova({
  instances: [TENANT, { ...TENANT, uuid: "b-2", node: "a-2", host: "c-2" }],
  beats: [BEAT, { ...BEAT, id: 2, host: "c-2" }],
});

const UNKNOWN = new Map(["N2I-D201", "N2I-D402"].map((code) => [code, false]));
const LOCAL = { ironic: { ...LATER, local: true } };
const TWO_HOSTS = node({ service_host: "c-2" });

/** Of rights, of what apply would refuse, of where instances are, of later Novas and of the cloud. */
export const OTHER_CASES: CheckCases = {
  "Evacuation records": [
    warns(
      nova({ version: 302, evacuations: null }),
      /they cannot be read.*GRANT SELECT on migrations/s,
    ),
    fails(
      OLD_NOVA,
      /every instance on its machines that has a different host\. Instances .*b-1 under c-9.*--compute-host/s,
    ),
    passes(
      nova({ evacuations: null }),
      /does not keep evacuation records.* No instance will have a different host/,
    ),
  ],
  "Attached volumes": [warns(nova({ volumes: null }), /GRANT SELECT on block_device_mapping/)],
  Aggregates: [
    warns(
      { ...nova({ aggregates: null }), ...moved() },
      /aggregate_hosts cannot be read with --nova-db\./,
    ),
    warns(
      { nova: { ...NEWTON, ...RACK }, ...moved({ joins: [{ host: "c-9", id: 3 }] }) },
      /^Aggregates of nova 334 are in nova_api, which was not read\.\nFix: specify --nova-api-db$/,
    ),
    warns(
      { nova: NEWTON, api: { ...API, ...RACK }, ...moved() },
      /rack7: c-1 is a member, c-9 will not be\.\nFix: openstack aggregate add host/,
    ),
    passes({ nova: { ...NEWTON, ...RACK }, api: { ...API, aggregates: [] }, ...moved() }, /^null$/),
    warns({ ...nova(RACK), ...TWO_HOSTS }, /c-1 in rack7.*--compute-host/s),
    warns({ ...nova(RACK), ...moved() }, /c-9 will not be/),
    passes({ ...nova(RACK), ...moved({ joins: [{ host: "c-9", id: 3 }] }) }, /^null$/),
    warns(
      { ...nova(RACK), ...moved({ moves: new Map([["c-1", new Set(["c-9", "c-8"])]]) }) },
      /^.* \(2\): .*c-9 will not be, .*c-8 will not be/,
    ),
    passes(nova(RACK), /No host/),
  ],
  Flavors: [
    warns(
      { ...AT_402, api: { ...API, flavors: null } },
      /flavor_extra_specs cannot be read with --nova-api-db\./,
    ),
    warns(AT_402, /in nova_api.*--nova-api-db/s),
    passes(
      { ...nova({ version: 402, flavors: [SPEC] }), api: { ...API, flavorIds: new Set([3]) } },
      /^0 flavors/,
    ),
    warns(
      { ...AT_402, api: { ...API, flavors: [SPEC], flavorIds: new Set([3]) } },
      /baremetal.*--nova-api-db DB.*D230/s,
    ),
    warns(
      {
        ...nova({ flavors: [{ ...SPEC, id: 4, flavor: "it's half" }] }),
        ...moved({ flavors: new Set() }),
      },
      /--deploy-ramdisk ID --flavor 'it'\\''s half' \(N2I-D230/,
    ),
    warns(
      nova({ flavors: [SPEC, { ...SPEC, step: "specs:5" }] }),
      /--deploy-ramdisk ID \(N2I-D231\)$/,
    ),
    warns(nova({ flavors: [SPEC] }), /baremetal.*D230/s),
    passes(nova({ flavors: [{ ...SPEC, value: "new" }] }), /1 flavor has deploy images/),
    passes({ ...nova({ flavors: [SPEC] }), ...moved() }, /apply changes/),
    warns(
      { ...nova({ flavors: [SPEC] }), plan: null },
      /without a plan Ironic.s images are unknown/,
    ),
    passes({ ...nova({ flavors: [SPEC] }), ironic: LATER }, /zed ignores/),
  ],
  Allocations: [
    warns({ computes: null, placement: UNPLACED }, /compute_nodes cannot be read/),
    fails(
      { placement: { ...placed({ uuid: "p-9", name: "kvm-1" }), providers: [] } },
      /b-1 on kvm-1, its machine is a-1\.\nFix: openstack resource provider allocation delete/,
    ),
    passes({ placement: placed({ uuid: "p-1", name: NODE }) }, /^null$/),
    fails(
      { placement: UNPLACED, classless: new Set([INSTANCE]) },
      /b-1 \(its embedded flavor has no resources:CUSTOM_\*, its machine has no provider\).*db ironic_flavor_migration --resource_class CLASS --all \(Pike 16\.0\.2 to Victoria\), .*--host HOST --node NODE instead of --all.*heal_allocations/s,
    ),
    warns({ ironic: LATER }, /--placement-db/),
    fails({ placement: UNPLACED }, /b-1.*heal_allocations/s),
    fails(
      { placement: placed({ uuid: "p-1", name: NODE }), computes: new Map([[NODE, "p-2"]]) },
      /p-1 of node a-1, whose compute node is p-2/,
    ),
  ],
  Privileges: [
    fails(
      { api: { ...API, forbidden: mayNot("DELETE flavor_extra_specs") } },
      /nova_api's database .*: DELETE flavor_extra_specs\..*GRANT DELETE ON/s,
    ),
    fails(
      nova({ forbidden: { ...mayNot("UPDATE instances"), missing: ["services"] } }),
      /UPDATE instances\.\nFix: .*GRANT.*\nTables are missing in the database of --nova-db.*: services\.\nFix: /,
    ),
    fails(nova({ forbidden: mayNot("UPDATE instances") }), /UPDATE instances.*GRANT/s),
    warns(
      moved({ api: new Map([["flavors", new Set()]]) }),
      / were not checked\..*specify --nova-api-db$/s,
    ),
  ],
  "Plan can be applied": [
    passes({}, /3 min old.*2 machines load, 0 already in Ironic/s),
    fails(
      applies({ blocked: ["bm_nodes.id=1 (N2I-D600)"], loads: 1 }),
      /^Machines are blocked \(1\): bm_nodes\.id=1 \(N2I-D600\)\.\nFix: .*--skip-blocked/,
    ),
    warns(
      applies({ blocked: ["bm_nodes.id=1 (N2I-D600)"], loads: 1, skipsBlocked: true }),
      /^Machines are blocked, and are excluded \(--skip-blocked\) \(1\): bm_nodes\.id=1/,
    ),
    fails(applies({ conflicts: ["bm_nodes.id=2 (N2I-D500)"] }), /^Machines conflict.* \(1\): /),
    fails(applies({ loads: 0 }), /^The plan does not load any machine, so apply refuses it/),
    fails(applies({ fresh: false }), /^The plan was made from a different snapshot/),
    warns(
      applies({ readings: { same: true, minutes: 40 } }),
      /40 min old, and apply does not accept readings older than 15\..*power, then plan/s,
    ),
    fails(applies({ readings: { same: false, minutes: 1 } }), /has different power readings/),
    fails(applies({ readings: { same: true, minutes: -90 } }), /90 min ahead/),
    passes(applies({ readings: null }), /^2 machines load/),
    warns({ plan: null }, /Not compared with a plan/),
  ],
  "Instance mappings": [
    fails(
      { ironic: LATER, api: { ...API, cellless: new Set([INSTANCE]) } },
      /^Instance mappings have no cell.* \(1\): b-1\.\nFix: UPDATE instance_mappings SET cell_id=/,
    ),
    warns({ ironic: LATER }, /--nova-api-db/),
    passes({ ironic: LATER, api: { ...API, mapped: new Set([INSTANCE]) } }, /^null$/),
    fails({ api: API }, /b-1.*map_instances/s),
  ],
  "Hosts of instances": [
    passes({}, /^1 instance has the nova-compute host of the machine/),
    fails(
      tenants({ host: "c-9" }),
      /^.* \(1\): .*b-1 under c-9, its nova-compute is c-1\.\nFix: nova2ironic plan .*--compute-host/s,
    ),
    fails(tenants({ node: null }), /b-1 on node none, its machine is a-1/),
    fails(nova({ beats: [] }), /b-1 under c-1, which is not a nova-compute host/),
    fails({ ...TWO, ...PAIR }, /^.* \(1\): .*b-2 under c-2, others under c-1/),
    passes(
      { ...TWO, ...PAIR, ironic: LATER },
      /^2 instances have the nova-compute host of the machine/,
    ),
    passes(
      { ...tenants({ host: "x", node: null }), ...plan({ machines: [GOES], ...MOVE }) },
      /^1 instance has the nova-compute host of the machine/,
    ),
    fails(plan({ machines: [GOES], nova: MOVED }), /b-1 under c-1, its nova-compute is c-9/),
    warns({ ...nova({ beats: [] }), ...found("N2I-D225", true) }, /as you accepted/),
    passes({ ...OLD_NOVA, ...plan({ machines: [], skipped: new Set([1]) }) }, /^0 instances/),
    passes({ ...OLD_NOVA, ...line({ blocked: true }) }, /^0 instances/),
    fails({ ...OLD_NOVA, ...found("N2I-D225", false, { blocked: true }) }, /b-1 under c-9/),
  ],
  "Queued requests": [
    fails(
      QUEUED,
      /^Requests are waiting in message queues \(1\): instance b-1 stop of some time waits/,
    ),
    fails(
      tenants({ task_state: "powering-off" }),
      /^.* \(1\): .*instance b-1 task_state powering-off is set.*rabbitmqctl purge_queue compute\.c-1/,
    ),
    warns(
      { ...tenants({ task_state: "powering-off" }), ...found("N2I-D206", true) },
      /as you accepted/,
    ),
    passes(nova({ instances: [POWERING], later: [{ ...BEAT, report_count: 11 }] }), /^null$/),
    warns(
      nova({ unqueued: { tables: ["instance_actions"], grants: ["GRANT SELECT ON x TO y"] } }),
      /may not read instance_actions\.\nFix: GRANT SELECT ON x TO y/,
    ),
    warns({ ...QUEUED, ...found("N2I-D243", true) }, /as you accepted/),
  ],
  "nova-compute stopped": [
    fails({ ...later({ host: "c-9", report_count: 11 }), ...plan(MOVE) }, /c-9 \(report_count 11/),
    fails(
      nova({
        instances: [{ ...TENANT, host: "c-7" }],
        later: [{ ...BEAT, host: "c-7", report_count: 11 }],
      }),
      /c-7 \(report_count 11/,
    ),
  ],
  "Unmatched instances": [
    fails(tenants({}, { uuid: "b-8", node: null }), /b-8 is on host c-1 only in nova/),
    passes(
      {
        ...tenants({}, { uuid: "b-8", node: "z-1" }),
        ...loaded({ uuid: "z-1", instance_uuid: "B-8" }),
      },
      /^null$/,
    ),
  ],
  "Instances planned and loaded": [
    fails(loaded({ uuid: "z-1" }), /bm_nodes\.id=1 has b-1, and so has node z-1 in Ironic/),
    fails(
      { ...loaded({ uuid: "a-9", instance_uuid: null }), loadedNodes: new Set(["a-9"]) },
      /node a-9 was loaded by this run, but is no longer in nova_bm/,
    ),
    fails(
      { ...loaded(), ...tenants({ deleted: true }), loadedNodes: new Set([NODE]) },
      /node a-1 has b-1 in Ironic, and nova no longer has it/,
    ),
    fails(
      plan({ machines: [...PLAN.machines, { ...LINE, uuid: "a-9" }] }),
      /node a-9 is planned, but no longer in nova_bm/,
    ),
    fails(line({ instance_uuid: "b-7" }), /b-7 in the plan/),
    fails(line({ instance_uuid: null }), /none in the plan/),
    passes(line({ blocked: true }), /1 in nova_bm, 0 in the plan/),
    fails(plan({ machines: [] }), /b-1, and is not in the plan/),
    passes(plan({ machines: [], skipped: new Set([1]) }), /0 in the plan/),
    warns({ plan: null }, /no plan/),
    fails(loaded({ instance_uuid: null }), /has b-1, none in Ironic/),
  ],
  "Target empty or ours": [
    warns({ ...loaded(), ...plan({ allowOtherNodes: true }) }, /plan --allow-other-nodes/),
  ],
  Images: [
    warns(tenants({ image: null }), /b-1 has no image/),
    fails(found("N2I-D402", false), /a-1 lacks an image/),
    // Nova does not know its instance, so it has no image until that is decided.
    passes(line({ findings: UNKNOWN, blocked: true }), /^Each image is specified/),
    passes({ glance: new Map([["new", "active"]]) }, /^1 image is active/),
    fails({ glance: new Map([["new", "queued"]]) }, /new is queued/),
    warns({ glance: new Map([["i-1", ""]]) }, /i-1 does not exist/),
    warns(HEAD ? { glance: HEAD } : {}, /E204 the reason/),
  ],
  "Boot from the network": [
    fails({ ...LOCAL, plan: null }, /a-1/),
    fails({ ...LOCAL, ...found("N2I-D403", false) }, /bm_nodes\.id=1 a-1.*N2I-D403/s),
    warns({ ...LOCAL, ...found("N2I-D403", true) }, /as you accepted/),
    passes(LOCAL, /^null$/),
  ],
};
