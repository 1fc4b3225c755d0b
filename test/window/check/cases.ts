import type { PlanApplies } from "../../../src/model/check.ts";
import {
  API,
  type CheckCases,
  fails,
  INSTANCE,
  LATER,
  MOVED,
  mayNot,
  NODE,
  NOVA,
  nova,
  PLAN,
  passes,
  plan,
  RACK,
  SPEC,
  warns,
} from "./view.ts";

/** Of rights, and of what later Novas have elsewhere. */
export const CASES_RIGHTS: CheckCases = {
  "Evacuation records": [
    warns(
      nova({ version: 302, evacuations: null }),
      /they cannot be read.*GRANT SELECT on migrations/s,
    ),
  ],
  "Attached volumes": [warns(nova({ volumes: null }), /GRANT SELECT on block_device_mapping/)],
  Aggregates: [
    warns(
      { ...nova({ aggregates: null }), ...plan({ nova: MOVED }) },
      /aggregate_hosts cannot be read with --nova-db\./,
    ),
  ],
  Flavors: [
    warns(
      { ...nova({ version: 402 }), api: { ...API, flavors: null } },
      /flavor_extra_specs cannot be read with --nova-api-db\./,
    ),
    warns(nova({ version: 402 }), /in nova_api.*--nova-api-db/s),
    passes(
      { ...nova({ version: 402, flavors: [SPEC] }), api: { ...API, flavorIds: new Set([3]) } },
      /^0 flavors/,
    ),
    warns(
      { ...nova({ version: 402 }), api: { ...API, flavors: [SPEC], flavorIds: new Set([3]) } },
      /baremetal.*--nova-api-db DB.*D230/s,
    ),
  ],
  Allocations: [
    warns(
      { computes: null, placement: { allocated: new Map(), providers: [] } },
      /compute_nodes cannot be read/,
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
      plan({ nova: { ...MOVED, api: new Map([["flavors", new Set()]]) } }),
      /not checked\..*specify --nova-api-db$/s,
    ),
  ],
};

const applies = (more: Partial<PlanApplies>) => plan({ applies: { ...PLAN.applies, ...more } });

/** What apply would refuse, or leave out, before anybody waits for it in the window. */
export const CASES_APPLIES: CheckCases = {
  "Plan can be applied": [
    passes({}, /3 min old.*2 machines load, 0 of them/s),
    fails(
      applies({ blocked: ["bm_nodes.id=1 (N2I-D600)"], loads: 1 }),
      /^Machines are blocked \(1\): bm_nodes\.id=1 \(N2I-D600\)\.\nFix: .*--skip-blocked/,
    ),
    warns(
      applies({ blocked: ["bm_nodes.id=1 (N2I-D600)"], loads: 1, leaves: true }),
      /^Machines are blocked, and are excluded \(--skip-blocked\) \(1\): bm_nodes\.id=1/,
    ),
    fails(applies({ conflicts: ["bm_nodes.id=2 (N2I-D500)"] }), /^.*in conflict.* \(1\): /),
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
};

/** Nova of Newton, whose aggregates are in nova_api. */
const NEWTON = { ...NOVA, version: 334 };
const placed = (...on: readonly { uuid: string; name: string }[]) => ({
  allocated: new Map([[INSTANCE, on]]),
  providers: [{ uuid: "p-1", name: NODE }],
});
/** Of the rows about the databases only later Novas have. */
export const LATER_CASES: CheckCases = {
  Aggregates: [
    warns(
      {
        nova: { ...NEWTON, ...RACK },
        ...plan({ nova: { ...MOVED, joins: [{ host: "c-9", id: 3 }] } }),
      },
      /^Aggregates of nova 334 are in nova_api, which was not read\.\nFix: specify --nova-api-db$/,
    ),
    warns(
      { nova: NEWTON, api: { ...API, ...RACK }, ...plan({ nova: MOVED }) },
      /rack7: c-1 is a member, c-9 will not be\.\nFix: openstack aggregate add host/,
    ),
    passes(
      { nova: { ...NEWTON, ...RACK }, api: { ...API, aggregates: [] }, ...plan({ nova: MOVED }) },
      /^null$/,
    ),
  ],
  Flavors: [
    warns(
      {
        ...nova({ flavors: [{ ...SPEC, id: 4, flavor: "it's half" }] }),
        ...plan({ nova: { ...MOVED, flavors: new Set() } }),
      },
      /--deploy-ramdisk ID --flavor 'it'\\''s half' \(N2I-D230/,
    ),
    warns(
      nova({ flavors: [SPEC, { ...SPEC, step: "specs:5" }] }),
      /--deploy-ramdisk ID \(N2I-D231\)$/,
    ),
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
  Allocations: [
    fails(
      { placement: { ...placed({ uuid: "p-9", name: "kvm-1" }), providers: [] } },
      /b-1 on kvm-1, its machine is a-1\.\nFix: openstack resource provider allocation delete/,
    ),
    passes({ placement: placed({ uuid: "p-1", name: NODE }) }, /^null$/),
    fails(
      { placement: { allocated: new Map(), providers: [] }, classless: new Set([INSTANCE]) },
      /b-1 \(its embedded flavor has no resources:CUSTOM_\*, its machine has no provider\).*db ironic_flavor_migration --resource_class CLASS --all \(Pike 16\.0\.2 to Victoria\), because heal_allocations .*--host HOST --node NODE instead of --all/s,
    ),
    warns({ ironic: LATER }, /--placement-db/),
    fails({ placement: { allocated: new Map(), providers: [] } }, /b-1.*heal_allocations/s),
    fails(
      { placement: placed({ uuid: "p-1", name: NODE }), computes: new Map([[NODE, "p-2"]]) },
      /p-1 of node a-1, whose compute node is p-2/,
    ),
  ],
};
