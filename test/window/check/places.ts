import {
  BEAT,
  BM,
  type CheckCases,
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
  plan,
  TENANT,
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
    [{}, "Success", /^1 instances name/],
    [
      nova({ instances: [{ ...TENANT, host: "c-9" }] }),
      "Failure",
      /^1 .*b-1 under c-9, its nova-compute is c-1\.\nFix: nova2ironic plan .*--compute-host/s,
    ],
    [
      nova({ instances: [{ ...TENANT, node: null }] }),
      "Failure",
      /b-1 on node none, its machine is a-1/,
    ],
    [nova({ beats: [] }), "Failure", /b-1 under c-1, which is no nova-compute/],
    [{ ...TWO, ...PAIR }, "Failure", /^1 .*b-2 under c-2, others under c-1/],
    [{ ...TWO, ...PAIR, ironic: LATER }, "Success", /^2 instances name/],
    [
      {
        ...nova({ instances: [{ ...TENANT, host: "x", node: null }] }),
        ...plan({ machines: [GOES], ...MOVE }),
      },
      "Success",
      /^1 instances name/,
    ],
    [plan({ machines: [GOES], nova: MOVED }), "Failure", /b-1 under c-1, its nova-compute is c-9/],
    [
      { ...nova({ beats: [] }), ...line({ findings: new Map([["N2I-D225", true]]) }) },
      "Warning",
      /as you accepted/,
    ],
    [{ ...OLD_NOVA, ...plan({ machines: [], skipped: new Set([1]) }) }, "Success", /^0 instances/],
    [{ ...OLD_NOVA, ...line({ blocked: true }) }, "Success", /^0 instances/],
    [
      { ...OLD_NOVA, ...line({ blocked: true, findings: new Map([["N2I-D225", false]]) }) },
      "Failure",
      /b-1 under c-9/,
    ],
  ],
  "Queued requests": [
    [
      nova({ queued: [{ instance: "b-1", text: "stop of some time waits" }] }),
      "Failure",
      /^1 requests wait in message queues: instance b-1 stop of some time waits/,
    ],
    [
      nova({ instances: [{ ...TENANT, task_state: "powering-off" }] }),
      "Failure",
      /^1 .*instance b-1 task_state powering-off is set.*rabbitmqctl purge_queue compute\.c-1/,
    ],
    [
      {
        ...nova({ instances: [{ ...TENANT, task_state: "powering-off" }] }),
        ...line({ findings: new Map([["N2I-D206", true]]) }),
      },
      "Warning",
      /as you accepted/,
    ],
    [
      nova({
        instances: [{ ...TENANT, task_state: "powering-off" }],
        later: [{ ...BEAT, report_count: 11 }],
      }),
      "Success",
      /^null$/,
    ],
    [
      nova({ unqueued: { tables: ["instance_actions"], grants: ["GRANT SELECT ON x TO y"] } }),
      "Warning",
      /may not read instance_actions\.\nFix: GRANT SELECT ON x TO y/,
    ],
    [
      {
        ...nova({ queued: [{ instance: "b-1", text: "stop of some time waits" }] }),
        ...line({ findings: new Map([["N2I-D243", true]]) }),
      },
      "Warning",
      /as you accepted/,
    ],
  ],
  "Evacuation records": [
    [
      OLD_NOVA,
      "Failure",
      /every instance on its machines whose host is not its own\. 1 .*b-1 under c-9.*--compute-host/s,
    ],
    [nova({ evacuations: null }), "Success", /keeps no records .*There will be none/],
  ],
  "nova-compute stopped": [
    [
      { ...nova({ later: [{ ...BEAT, host: "c-9", report_count: 11 }] }), ...plan(MOVE) },
      "Failure",
      /c-9 \(report_count 11/,
    ],
    [
      nova({
        instances: [{ ...TENANT, host: "c-7" }],
        later: [{ ...BEAT, host: "c-7", report_count: 11 }],
      }),
      "Failure",
      /c-7 \(report_count 11/,
    ],
  ],
  "Unmatched instances": [
    [
      nova({ instances: [TENANT, { ...TENANT, uuid: "b-8", node: null }] }),
      "Failure",
      /b-8 is on host c-1 in nova alone/,
    ],
    [
      {
        ...nova({ instances: [TENANT, { ...TENANT, uuid: "b-8", node: "z-1" }] }),
        ...ironic({ nodes: [{ ...LOADED, uuid: "z-1", instance_uuid: "B-8" }] }),
      },
      "Success",
      /^null$/,
    ],
  ],
  "Instances planned and loaded": [
    [
      ironic({ nodes: [{ ...LOADED, uuid: "z-1" }] }),
      "Failure",
      /bm_nodes\.id=1 has b-1, and so has node z-1 in Ironic/,
    ],
    [
      {
        ...ironic({ nodes: [{ ...LOADED, uuid: "a-9", instance_uuid: null }] }),
        ours: new Set(["a-9"]),
      },
      "Failure",
      /node a-9 is ours in Ironic, and no more in nova_bm/,
    ],
    [
      {
        ...ironic({ nodes: [LOADED] }),
        ...nova({ instances: [{ ...TENANT, deleted: true }] }),
        ours: new Set([NODE]),
      },
      "Failure",
      /node a-1 has b-1 in Ironic, which nova has no more/,
    ],
    [
      plan({ machines: [...PLAN.machines, { ...LINE, uuid: "a-9" }] }),
      "Failure",
      /node a-9 is planned, and no more in nova_bm/,
    ],
  ],
};
