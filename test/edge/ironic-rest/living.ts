import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createSeal } from "../../../src/edge/disk/seal.ts";
import type { Link } from "../../../src/edge/ironic-rest/look.ts";
import { rowsOf } from "../../../src/edge/ironic-rest/row.ts";
import { openService } from "../../../src/edge/ironic-rest/service.ts";
import { cloudOf } from "../../../src/edge/openstack/settings.ts";
import type { Row } from "../../../src/model/machine.ts";
import type { Seal } from "../../../src/model/secret.ts";
import { loadMappings } from "../../../src/stages/documents.ts";
import { listening } from "../../support/listening.ts";
import { answerTo, type Held } from "./keeps.ts";

/** What becomes of a call: done and answered, unless this says otherwise. */
export interface Fault {
  /** The service does what was asked, whatever it says of it. */
  readonly done: boolean;
  /** Null: the connection breaks; without it, what it would say. */
  readonly says?: { readonly status: number; readonly text: string } | null;
  /** It is not the service that says it, but somebody in between. */
  readonly between?: true;
  /** Milliseconds before it does it, and before it says so. */
  readonly before?: number;
  readonly after?: number;
}

/** An Ironic 2023.1 that keeps nodes and ports, whose conductor is done at once. */
export interface Living extends Held {
  readonly url: string;
  readonly link: Link;
  readonly seal: Seal;
  /** Calls that change something, as they came: `PUT /v1/nodes/UUID/maintenance`. */
  readonly calls: string[];
  /** Asked for every call, questions too; null lets it pass. */
  readonly use: (fault: (call: string) => Fault | null) => void;
}

/** @param limit milliseconds a call may take */
export async function livingIronic(t: TestContext, limit = 5000): Promise<Living> {
  const held: Held = { nodes: new Map(), ports: new Map() };
  const calls: string[] = [];
  let choose: (call: string) => Fault | null = () => null;
  const server = createServer(async (asked, answer) => {
    const chunks: Buffer[] = [];
    for await (const chunk of asked) chunks.push(chunk as Buffer); // no encoding is set
    const call = `${asked.method} ${asked.url}`;
    if (asked.method !== "GET") calls.push(call);
    const fault = choose(call);
    const text = Buffer.concat(chunks).toString();
    const body: unknown = text === "" ? null : JSON.parse(text);
    if (fault?.before !== undefined) await sleep(fault.before, null, { ref: false });
    const own = fault?.done === false ? null : answerTo(held, call, body);
    const says = fault?.says === undefined ? own : fault.says;
    if (fault?.after !== undefined) await sleep(fault.after, null, { ref: false });
    if (says === null || answer.destroyed) return void asked.socket.resetAndDestroy();
    const version = asked.headers["x-openstack-ironic-api-version"];
    answer.writeHead(says.status, {
      "X-OpenStack-Ironic-API-Minimum-Version": "1.1",
      "X-OpenStack-Ironic-API-Maximum-Version": "1.82",
      ...(version !== undefined &&
        fault?.between !== true && { "X-OpenStack-Ironic-API-Version": version }),
    });
    answer.end(says.text);
  });
  const url = await listening(t, server);
  const { releases, rest } = await loadMappings();
  const cloud = cloudOf(new Map([["endpoint", url]]), "OS_*");
  const service = await openService(cloud, releases, rest, "2023.1", limit);
  t.after(() => service.session.close());
  const seal = createSeal(randomBytes(32));
  return {
    ...{ url, seal, calls },
    ...held,
    link: { service, rows: rowsOf(rest, service.minor, seal) },
    use: (fault) => {
      choose = fault;
    },
  };
}

export const NODE = "e0000000-0000-4000-8000-000000000001";
export const PORT = "e0000000-0000-4000-8000-000000000002";

/** A tenant's machine with one port, as a plan has it. */
export function machineOf(more: Row = {}): {
  readonly uuid: string;
  readonly node: Row;
  readonly ports: readonly Row[];
} {
  const node: Row = {
    uuid: NODE,
    driver: "fake-hardware",
    console_enabled: false,
    extra: { nova_bm: { id: 1 } },
    provision_state: "active",
    maintenance: false,
    protected: true,
    protected_reason: "a tenant's",
    ...more,
  };
  const ports = [{ uuid: PORT, node_uuid: NODE, address: "52:54:00:00:00:01", extra: {} }];
  return { uuid: NODE, node, ports };
}
