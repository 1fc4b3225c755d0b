import {
  BEAT,
  BM,
  type CheckCases,
  fails,
  INSTANCE,
  ironic,
  LATER,
  LINE,
  LOADED,
  line,
  MOVED,
  NODE,
  nova,
  PLAN,
  passes,
  plan,
  TENANT,
  warns,
} from "./view.ts";

const MOVE = { nova: { ...MOVED, places: new Map([[INSTANCE, { host: "c-9", node: NODE }]]) } };
const GOES = { ...LINE, host: "c-9" };
const OLD_NOVA = nova({ evacuations: null, instances: [{ ...TENANT, host: "c-9" }] });
const ROW = { id: 2, uuid: "a-2", service_host: "c-2", instance_uuid: "b-2", task_state: "active" };
const PAIR = {
  bm: { ...BM, nodes: [...BM.nodes.slice(0, 1), ROW] },
  ...plan({ machines: [LINE, { ...LINE, uuid: "a-2", instance_uuid: "b-2", host: "c-2" }] }),
};
const TWO = nova({
  instances: [TENANT, { ...TENANT, uuid: "b-2", node: "a-2", host: "c-2" }],
  beats: [BEAT, { ...BEAT, id: 2, host: "c-2" }],
});

/** Of the rows about where instances are. */
export const CASES_PLACES: CheckCases = {
  "Hosts of instances": [
    passes({}, /^1 instance names/),
    fails(
      nova({ instances: [{ ...TENANT, host: "c-9" }] }),
      /^.* \(1\): .*b-1 under c-9, its nova-compute is c-1\.\nFix: nova2ironic plan .*--compute-host/s,
    ),
    fails(nova({ instances: [{ ...TENANT, node: null }] }), /b-1 on node none, its machine is a-1/),
    fails(nova({ beats: [] }), /b-1 under c-1, which is not a nova-compute host/),
    fails({ ...TWO, ...PAIR }, /^.* \(1\): .*b-2 under c-2, others under c-1/),
    passes({ ...TWO, ...PAIR, ironic: LATER }, /^2 instances name/),
    passes(
      {
        ...nova({ instances: [{ ...TENANT, host: "x", node: null }] }),
        ...plan({ machines: [GOES], ...MOVE }),
      },
      /^1 instance names/,
    ),
    fails(plan({ machines: [GOES], nova: MOVED }), /b-1 under c-1, its nova-compute is c-9/),
    warns(
      { ...nova({ beats: [] }), ...line({ findings: new Map([["N2I-D225", true]]) }) },
      /as you accepted/,
    ),
    passes({ ...OLD_NOVA, ...plan({ machines: [], skipped: new Set([1]) }) }, /^0 instances/),
    passes({ ...OLD_NOVA, ...line({ blocked: true }) }, /^0 instances/),
    fails(
      { ...OLD_NOVA, ...line({ blocked: true, findings: new Map([["N2I-D225", false]]) }) },
      /b-1 under c-9/,
    ),
  ],
  "Queued requests": [
    fails(
      nova({ queued: [{ instance: "b-1", text: "stop of some time waits" }] }),
      /^Requests are waiting in message queues \(1\): instance b-1 stop of some time waits/,
    ),
    fails(
      nova({ instances: [{ ...TENANT, task_state: "powering-off" }] }),
      /^.* \(1\): .*instance b-1 task_state powering-off is set.*rabbitmqctl purge_queue compute\.c-1/,
    ),
    warns(
      {
        ...nova({ instances: [{ ...TENANT, task_state: "powering-off" }] }),
        ...line({ findings: new Map([["N2I-D206", true]]) }),
      },
      /as you accepted/,
    ),
    passes(
      nova({
        instances: [{ ...TENANT, task_state: "powering-off" }],
        later: [{ ...BEAT, report_count: 11 }],
      }),
      /^null$/,
    ),
    warns(
      nova({ unqueued: { tables: ["instance_actions"], grants: ["GRANT SELECT ON x TO y"] } }),
      /may not read instance_actions\.\nFix: GRANT SELECT ON x TO y/,
    ),
    warns(
      {
        ...nova({ queued: [{ instance: "b-1", text: "stop of some time waits" }] }),
        ...line({ findings: new Map([["N2I-D243", true]]) }),
      },
      /as you accepted/,
    ),
  ],
  "Evacuation records": [
    fails(
      OLD_NOVA,
      /every instance on its machines that has a different host\. Instances .*b-1 under c-9.*--compute-host/s,
    ),
    passes(nova({ evacuations: null }), /does not keep evacuation records.*No instance will have a different host/),
  ],
  "nova-compute stopped": [
    fails(
      { ...nova({ later: [{ ...BEAT, host: "c-9", report_count: 11 }] }), ...plan(MOVE) },
      /c-9 \(report_count 11/,
    ),
    fails(
      nova({
        instances: [{ ...TENANT, host: "c-7" }],
        later: [{ ...BEAT, host: "c-7", report_count: 11 }],
      }),
      /c-7 \(report_count 11/,
    ),
  ],
  "Unmatched instances": [
    fails(
      nova({ instances: [TENANT, { ...TENANT, uuid: "b-8", node: null }] }),
      /b-8 is on host c-1 only in nova/,
    ),
    passes(
      {
        ...nova({ instances: [TENANT, { ...TENANT, uuid: "b-8", node: "z-1" }] }),
        ...ironic({ nodes: [{ ...LOADED, uuid: "z-1", instance_uuid: "B-8" }] }),
      },
      /^null$/,
    ),
  ],
  "Instances planned and loaded": [
    fails(
      ironic({ nodes: [{ ...LOADED, uuid: "z-1" }] }),
      /bm_nodes\.id=1 has b-1, and so has node z-1 in Ironic/,
    ),
    fails(
      {
        ...ironic({ nodes: [{ ...LOADED, uuid: "a-9", instance_uuid: null }] }),
        ours: new Set(["a-9"]),
      },
      /node a-9 was loaded by this run, but is no longer in nova_bm/,
    ),
    fails(
      {
        ...ironic({ nodes: [LOADED] }),
        ...nova({ instances: [{ ...TENANT, deleted: true }] }),
        ours: new Set([NODE]),
      },
      /node a-1 has b-1 in Ironic, and nova no longer has it/,
    ),
    fails(
      plan({ machines: [...PLAN.machines, { ...LINE, uuid: "a-9" }] }),
      /node a-9 is planned, but no longer in nova_bm/,
    ),
  ],
};
