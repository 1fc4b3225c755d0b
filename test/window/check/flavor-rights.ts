import { API, type CheckCases, MOVED, mayNot, nova, plan, SPEC } from "./view.ts";

/** Of rights, and of what later Novas have elsewhere. */
export const CASES_RIGHTS: CheckCases = {
  "Evacuation records": [
    [
      nova({ version: 302, evacuations: null }),
      "Warning",
      /none can be read.*GRANT SELECT on migrations/s,
    ],
  ],
  "Attached volumes": [
    [nova({ volumes: null }), "Warning", /GRANT SELECT on block_device_mapping/],
  ],
  Aggregates: [
    [
      { ...nova({ aggregates: null }), ...plan({ nova: MOVED }) },
      "Warning",
      /aggregate_hosts cannot be read behind --nova-db\./,
    ],
  ],
  Flavors: [
    [
      { ...nova({ version: 402 }), api: { ...API, flavors: null } },
      "Warning",
      /flavor_extra_specs cannot be read behind --nova-api-db\./,
    ],
    [nova({ version: 402 }), "Warning", /in nova_api.*--nova-api-db/s],
    [
      { ...nova({ version: 402, flavors: [SPEC] }), api: { ...API, flavorIds: new Set([3]) } },
      "Success",
      /^0 flavors/,
    ],
    [
      { ...nova({ version: 402 }), api: { ...API, flavors: [SPEC], flavorIds: new Set([3]) } },
      "Warning",
      /baremetal.*--nova-api-db DB.*D230/s,
    ],
  ],
  Allocations: [
    [
      { computes: null, placement: { allocated: new Map(), providers: [] } },
      "Warning",
      /compute_nodes cannot be read/,
    ],
  ],
  Privileges: [
    [
      { api: { ...API, forbidden: mayNot("DELETE flavor_extra_specs") } },
      "Failure",
      /nova_api's database .*: DELETE flavor_extra_specs\..*GRANT DELETE ON/s,
    ],
    [
      nova({ forbidden: { ...mayNot("UPDATE instances"), missing: ["services"] } }),
      "Failure",
      /UPDATE instances\.\nFix: .*GRANT.*\n1 tables are missing behind --nova-db.*: services\.\nFix: /,
    ],
    [nova({ forbidden: mayNot("UPDATE instances") }), "Failure", /UPDATE instances.*GRANT/s],
    [
      plan({ nova: { ...MOVED, api: new Map([["flavors", new Set()]]) } }),
      "Warning",
      /Not looked at .*give --nova-api-db$/s,
    ],
  ],
};
