import assert from "node:assert/strict";
import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { proxyScene } from "./scene.ts";
import { PROJECT, uuidOf } from "./stand-ins.ts";

const BASE = `/v2/${PROJECT}/os-baremetal-nodes`;
const NODE = uuidOf(2);
const FIELDS = {
  "User-Agent": "python-novaclient",
  "Accept-Encoding": "gzip, deflate",
  Accept: "application/json",
  Connection: "keep-alive",
  "X-Auth-Token": "admin",
} as const;

interface Answer {
  readonly status: number;
  readonly body: { readonly [name: string]: unknown };
}

/** The proxy, asked as that client asks: on one connection, with these fields. */
async function client(t: TestContext) {
  const { proxy, calls } = await proxyScene(t, 2);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const sends = (path: string): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const asked = request(`${proxy.url}${path}`, { agent, headers: FIELDS }, (came) => {
        const { statusCode: status = 0 } = came;
        text(came).then((said) => resolve({ status, body: JSON.parse(said) }), reject);
      });
      asked.on("error", reject);
      asked.end();
    });
  return { sends, calls };
}

/** What the client prints of a thing in these columns, blank where it has no such attribute. */
function row(thing: unknown, columns: readonly string[]): readonly string[] {
  const kept = new Map(Object.entries(thing as object));
  return columns.map((name) => String(kept.get(name.toLowerCase().replaceAll(" ", "_")) ?? ""));
}

/**
 * The requests were recorded from the client itself, 2.18.0 and 2.20.0 alike, which printed these rows. It has no
 * path for interfaces: it reads them from the node.
 *
 * @source python-novaclient@2.18.0, 2.20.0 novaclient/v1_1/contrib/baremetal.py list_interfaces, _find_baremetal_node
 */
test("Juno's novaclient lists the interfaces of a node from the node that it shows", async (t) => {
  const { sends, calls } = await client(t);
  for (const ident of [NODE, "node-2"]) {
    const { status, body } = await sends(`${BASE}/${ident}`);
    assert.equal(status, 200);
    const { interfaces } = body.node as { readonly interfaces: readonly unknown[] };
    const columns = ["ID", "Datapath_ID", "Port_No", "Address"];
    assert.deepEqual(
      interfaces.map((one) => row(one, columns)),
      [["", "", "", "52:54:00:00:00:00"]],
    );
    assert.deepEqual(
      calls().map((path) => path.split(/[/?]/)[2]),
      ["nodes", "ports"],
    );
  }
  const unknown = await sends(`${BASE}/${uuidOf(9)}`);
  const message = `Node ${uuidOf(9)} could not be found.`;
  assert.deepEqual(unknown, { status: 404, body: { itemNotFound: { code: 404, message } } });
});

test("Juno's novaclient lists nodes with what it prints of each", async (t) => {
  const { sends } = await client(t);
  const list = await sends(BASE);
  const columns = ["ID", "Host", "Task State", "CPUs", "Memory_MB", "Disk_GB", "PM Address"];
  const nodes = list.body.nodes as readonly { readonly interfaces: readonly unknown[] }[];
  assert.deepEqual(
    nodes.map((node) => row(node, columns)),
    [1, 2].map((at) => [uuidOf(at), "IRONIC MANAGED", "active", "4", "4096", "40", ""]),
  );
  // It prints the MAC addresses of a list, too, and fails without this member.
  assert.ok(nodes.every(({ interfaces }) => Array.isArray(interfaces)));
  assert.equal((await sends(`${BASE}/${NODE}`)).status, 200);
});
