import { randomBytes } from "node:crypto";
import type { TestContext } from "node:test";
import { loadMappings } from "../../../src/migrate/open/documents.ts";
import type { Row } from "../../../src/model/machine.ts";
import { createSeal } from "../../../src/run/files/seal.ts";
import { rowsOf } from "../../../src/systems/ironic-api/row.ts";
import { openService } from "../../../src/systems/ironic-api/service.ts";
import { cloudOf } from "../../../src/systems/openstack/settings.ts";
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
