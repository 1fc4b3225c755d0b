import {
  API,
  type CheckCases,
  INSTANCE,
  LATER,
  MOVED,
  NODE,
  NOVA,
  nova,
  plan,
  RACK,
  SPEC,
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
    [
      {
        nova: { ...NEWTON, ...RACK },
        ...plan({ nova: { ...MOVED, joins: [{ host: "c-9", id: 3 }] } }),
      },
      "Warning",
      /^Aggregates of nova 334 are in nova_api, which was not read\.\nFix: give --nova-api-db$/,
    ],
    [
      { nova: NEWTON, api: { ...API, ...RACK }, ...plan({ nova: MOVED }) },
      "Warning",
      /rack7: c-1 is in it, c-9 will not be\.\nFix: openstack aggregate add host/,
    ],
    [
      { nova: { ...NEWTON, ...RACK }, api: { ...API, aggregates: [] }, ...plan({ nova: MOVED }) },
      "Success",
      /^null$/,
    ],
  ],
  Flavors: [
    [
      {
        ...nova({ flavors: [{ ...SPEC, id: 4, flavor: "it's half" }] }),
        ...plan({ nova: { ...MOVED, flavors: new Set() } }),
      },
      "Warning",
      /--deploy-ramdisk ID --flavor 'it'\\''s half' \(N2I-D230/,
    ],
    [
      nova({ flavors: [SPEC, { ...SPEC, step: "specs:5" }] }),
      "Warning",
      /--deploy-ramdisk ID \(N2I-D231\)$/,
    ],
  ],
  "Instance mappings": [
    [
      { ironic: LATER, api: { ...API, cellless: new Set([INSTANCE]) } },
      "Failure",
      /^1 instance mappings name no cell.*: b-1\.\nFix: UPDATE instance_mappings SET cell_id=/,
    ],
    [{ ironic: LATER }, "Warning", /--nova-api-db/],
    [{ ironic: LATER, api: { ...API, mapped: new Set([INSTANCE]) } }, "Success", /^null$/],
    [{ api: API }, "Failure", /b-1.*map_instances/s],
  ],
  Allocations: [
    [
      { placement: { ...placed({ uuid: "p-9", name: "kvm-1" }), providers: [] } },
      "Failure",
      /b-1 on kvm-1, its machine is a-1\.\nFix: openstack resource provider allocation delete/,
    ],
    [{ placement: placed({ uuid: "p-1", name: NODE }) }, "Success", /^null$/],
    [
      { placement: { allocated: new Map(), providers: [] }, classless: new Set([INSTANCE]) },
      "Failure",
      /b-1 \(its embedded flavor has no resources:CUSTOM_\*, its machine no provider\).*db ironic_flavor_migration --resource_class CLASS --all \(Pike 16\.0\.2 to Victoria; .*--host HOST --node NODE in place of --all.*heal_allocations/s,
    ],
    [{ ironic: LATER }, "Warning", /--placement-db/],
    [{ placement: { allocated: new Map(), providers: [] } }, "Failure", /b-1.*heal_allocations/s],
    [
      { placement: placed({ uuid: "p-1", name: NODE }), computes: new Map([[NODE, "p-2"]]) },
      "Failure",
      /p-1 of node a-1, whose compute node is p-2/,
    ],
  ],
};
