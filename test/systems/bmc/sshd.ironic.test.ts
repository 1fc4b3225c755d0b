import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync } from "node:fs";
import { createServer } from "node:net";
import { type TestContext, test } from "node:test";
import type { PowerReading } from "../../../src/model/power.ts";
import { askVirtual } from "../../../src/systems/bmc/virsh-ask.ts";
import { machine, macOf, OPTIONS, otherHost, SETTINGS, told } from "./other-host.ts";
import { type RealHost, startRealHost, USER } from "./real-host.ts";

const DOMAINS = (["running", "shut off", "paused"] as const).map((state, at) => ({
  name: `web ${at} & co`.replace("&", "&amp;"),
  mac: macOf(at),
  state,
}));

async function ask(
  host: RealHost,
  at: readonly number[] = [2],
  key = host.key,
): Promise<readonly PowerReading[]> {
  const settings = {
    ...SETTINGS,
    virtual_power_ssh_host: "127.0.0.1",
    virtual_power_ssh_port: host.port,
    virtual_power_host_user: USER,
    virtual_power_host_key: key,
  };
  return askVirtual(
    settings,
    at.map((one) => machine(one)),
    { ...OPTIONS, deadline: 60_000, ssh: host.ssh },
  );
}

test("the real sshd and virsh tell on, off and paused to one who has the key", async (t) => {
  const host = await start(t);
  assert.deepEqual((await ask(host, [0, 1, 2, 3])).map(told), [
    ["ok", "on", "the virtual machine web 0 & co is running"],
    ["ok", "off", "the virtual machine web 1 & co is shut off"],
    ["ok", "on", "the virtual machine web 2 & co is paused"],
    ["protocol-error", null, "no virtual machine there has a MAC of this machine"],
  ]);
  assert.equal(host.log().match(/Accepted \S+ for/g)?.length, 1);
});

test("the real ssh says of a host key that it is unknown, or another", async (t) => {
  const host = await start(t);
  host.know(null);
  const [unknown] = await ask(host);
  assert.equal(unknown?.verdict, "protocol-error");
  assert.match(unknown.detail, /^ssh does not know the host key of 127\.0\.0\.1 port \d+: run ssh/);
  host.know("another");
  const [other] = await ask(host);
  assert.equal(other?.verdict, "protocol-error");
  assert.match(other.detail, /has another host key .* ssh-keygen -R "\[127\.0\.0\.1\]:\d+"$/);
  assert.doesNotMatch(host.log(), /Accepted|Failed/);
});

test("the real ssh says what is wrong with a key", async (t) => {
  const host = await start(t);
  const [strange] = await ask(host, [2], `${host.folder}/other`);
  assert.equal(strange?.verdict, "wrong-password");
  const [none] = await ask(host, [2], `${host.folder}/passwd`);
  assert.equal(none?.verdict, "incomplete");
  chmodSync(host.key, 0o644);
  const [open] = await ask(host);
  assert.match(open?.detail ?? "", /chmod 600/);
});

test("1,000 machines of the real virsh are told in time, over the real ssh", async (t) => {
  const host = await start(t);
  const all = Array.from({ length: 1000 }, (_, at) => at);
  const stateOf = (at: number): "running" | "shut off" => (at % 3 === 0 ? "shut off" : "running");
  host.domains(all.map((at) => ({ name: `d${at}`, mac: macOf(at), state: stateOf(at) })));
  const readings = await ask(host, all);
  assert.deepEqual(
    readings.map(({ power }) => power),
    all.map((at) => (at % 3 === 0 ? "off" : "on")),
  );
  t.diagnostic(`${readings[0]?.elapsed} ms`);
});

test("a closed port, and one where a server is silent, are unreachable to the real ssh", async (t) => {
  const server = createServer().listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  const host = otherHost(t);
  const at = { ssh: "ssh", virtual_power_ssh_host: "127.0.0.1", deadline: 1500 };
  const [silent] = await host.ask([machine(1)], { ...at, virtual_power_ssh_port: address.port });
  assert.equal(silent?.verdict, "unreachable");
  const [closed] = await host.ask([machine(1)], { ...at, virtual_power_ssh_port: 1 });
  assert.deepEqual(closed && told(closed), [
    "unreachable",
    null,
    "127.0.0.1 port 1 refuses connections",
  ]);
});

async function start(t: TestContext): Promise<RealHost> {
  const host = await startRealHost(t);
  host.domains(DOMAINS);
  return host;
}
