import assert from "node:assert/strict";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { tool } from "../lab/bmc/tools.ts";
import { freePort, startDaemon } from "../lab/daemon.ts";
import { owner, privateFile, privateFolder } from "../lab/folder.ts";
import { listening } from "../support/listening.ts";
import { blocks, page } from "../support/manual.ts";
import { proxyScene } from "./scene.ts";

test("haproxy with the manual's lines sends one API here and all else to nova-api", async (t) => {
  const haproxy = process.env.N2I_FAST === "1" ? null : tool("haproxy");
  if (haproxy === null) return t.skip("needs haproxy: apt-get install haproxy");
  const { proxy } = await proxyScene(t, 3);
  const nova = await listening(
    t,
    createServer(({ url }, response) => response.end(`nova-api ${url}`)),
  );
  const port = await freePort();
  const at = (url: string): string => url.replace("http://", "");
  const [lines = ""] = blocks(page("proxy"), "haproxy");
  const config = lines
    .replace("bind :8774", `bind 127.0.0.1:${port}`)
    .replace("127.0.0.1:8785", at(proxy.url))
    .replace("127.0.0.1:8776", at(nova));
  assert.ok(config.includes(at(proxy.url)) && config.includes(at(nova)));
  const user = owner("haproxy");
  const folder = privateFolder("n2i-haproxy-", user);
  const times = "    timeout connect 5s\n    timeout client 60s\n    timeout server 60s\n";
  privateFile(join(folder, "haproxy.cfg"), `defaults\n${times}${config}`, user);
  const words = [haproxy, "-db", "-f", join(folder, "haproxy.cfg")];
  const daemon = startDaemon(["true"], words, { folder, signal: "TERM", owner: user });
  t.after(daemon.stop);
  const get = async (path: string): Promise<string> => {
    const headers = { "X-Auth-Token": "admin" };
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
    return `${answer.status} ${await answer.text()}`;
  };
  for (let waited = 0; ; waited += 1) {
    const up = await get("/").catch(() => "");
    if (up.startsWith("200 nova-api")) break;
    assert.ok(waited < 200 && daemon.running(), daemon.lastWords());
    await sleep(100);
  }
  for (const path of ["/v2.1/os-baremetal-nodes", "/v2/os-baremetal-nodes?a=b"])
    assert.match(await get(path), /^200 \{"nodes": /, path);
  assert.match(await get("/v2.1/other/os-baremetal-nodes"), /^400 .*doesn't match Context's/);
  assert.match(await get("/v2.1/os-baremetal-nodes/none"), /^404 .*Node none could not be found/);
  for (const path of [
    "/v2.1/servers",
    "/v2.1/os-baremetal-nodes-x",
    "/v2x1/os-baremetal-nodes",
    "/v2.1/a/b/os-baremetal-nodes",
  ])
    assert.equal(await get(path), `200 nova-api ${path}`);
});
