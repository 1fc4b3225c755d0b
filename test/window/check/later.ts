import {
  API,
  type CheckCases,
  fails,
  INSTANCE,
  LATER,
  MOVED,
  NODE,
  NOVA,
  nova,
  passes,
  plan,
  RACK,
  SPEC,
  warns,
} from "./view.ts";

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
      /^Aggregates of nova 334 are in nova_api, which was not read\.\nFix: give --nova-api-db$/,
    ),
    warns(
      { nova: NEWTON, api: { ...API, ...RACK }, ...plan({ nova: MOVED }) },
      /rack7: c-1 is in it, c-9 will not be\.\nFix: openstack aggregate add host/,
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
      /^1 instance mappings name no cell.*: b-1\.\nFix: UPDATE instance_mappings SET cell_id=/,
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
      /b-1 \(its embedded flavor has no resources:CUSTOM_\*, its machine no provider\).*db ironic_flavor_migration --resource_class CLASS --all \(Pike 16\.0\.2 to Victoria; .*--host HOST --node NODE in place of --all.*heal_allocations/s,
    ),
    warns({ ironic: LATER }, /--placement-db/),
    fails({ placement: { allocated: new Map(), providers: [] } }, /b-1.*heal_allocations/s),
    fails(
      { placement: placed({ uuid: "p-1", name: NODE }), computes: new Map([[NODE, "p-2"]]) },
      /p-1 of node a-1, whose compute node is p-2/,
    ),
  ],
};
