import {
  API,
  type CheckCases,
  fails,
  MOVED,
  mayNot,
  nova,
  passes,
  plan,
  SPEC,
  warns,
} from "./view.ts";

/** Of rights, and of what later Novas have elsewhere. */
export const CASES_RIGHTS: CheckCases = {
  "Evacuation records": [
    warns(
      nova({ version: 302, evacuations: null }),
      /none can be read.*GRANT SELECT on migrations/s,
    ),
  ],
  "Attached volumes": [warns(nova({ volumes: null }), /GRANT SELECT on block_device_mapping/)],
  Aggregates: [
    warns(
      { ...nova({ aggregates: null }), ...plan({ nova: MOVED }) },
      /aggregate_hosts cannot be read behind --nova-db\./,
    ),
  ],
  Flavors: [
    warns(
      { ...nova({ version: 402 }), api: { ...API, flavors: null } },
      /flavor_extra_specs cannot be read behind --nova-api-db\./,
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
      /UPDATE instances\.\nFix: .*GRANT.*\n1 tables are missing behind --nova-db.*: services\.\nFix: /,
    ),
    fails(nova({ forbidden: mayNot("UPDATE instances") }), /UPDATE instances.*GRANT/s),
    warns(
      plan({ nova: { ...MOVED, api: new Map([["flavors", new Set()]]) } }),
      /Not looked at .*give --nova-api-db$/s,
    ),
  ],
};
