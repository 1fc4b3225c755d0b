import assert from "node:assert/strict";
import { createServer } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { until } from "../../grenade/lib/wait.ts";
import { type Tool, tool } from "../lab/bmc/tools.ts";
import { freePort, startDaemon } from "../lab/daemon.ts";
import { owner, privateFile, privateFolder } from "../lab/folder.ts";
import { listening } from "../support/listening.ts";
import { blocks, page } from "../support/manual.ts";
import { proxyScene } from "./scene.ts";

interface Balancer {
  readonly name: Extract<Tool, "haproxy" | "apache2" | "nginx">;
  /** As the manual's blocks have it. */
  readonly language: string;
  readonly package: string;
  /** The manual's lines with what an operator has besides. @param nova HOST:PORT of nova-api */
  readonly config: (lines: string, port: number, nova: string) => string;
  readonly words: (folder: string, file: string) => readonly string[];
}

const MODULES = ["mpm_event", "authz_core", "proxy", "proxy_http"];
const TEMPORARY = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

const BALANCERS: readonly Balancer[] = [
  {
    ...{ name: "haproxy", language: "haproxy", package: "haproxy" },
    config: (lines, port, nova) =>
      `defaults\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n${lines
        .replace("bind :8774", `bind 127.0.0.1:${port}`)
        .replace("127.0.0.1:8776", nova)}`,
    words: (_folder, file) => ["-db", "-f", file],
  },
  {
    ...{ name: "apache2", language: "apache", package: "apache2-bin" },
    config: (lines, port, nova) =>
      [
        ...MODULES.map((one) => `LoadModule ${one}_module /usr/lib/apache2/modules/mod_${one}.so`),
        `Listen 127.0.0.1:${port}\nServerName nova\nPidFile pid\nErrorLog /dev/stderr`,
        ...[lines, `ProxyPass "/" "http://${nova}/"\n`],
      ].join("\n"),
    words: (folder, file) => ["-DFOREGROUND", "-d", folder, "-f", file],
  },
  {
    ...{ name: "nginx", language: "nginx", package: "nginx" },
    config: (lines, port, nova) =>
      [
        "daemon off;\npid pid;\nevents {}\nhttp {\naccess_log off;",
        ...TEMPORARY.map((one) => `${one}_temp_path ${one};`),
        `server {\nlisten 127.0.0.1:${port};\n${lines}`,
        `location / { proxy_pass http://${nova}; }\n}\n}\n`,
      ].join("\n"),
    words: (folder, file) => ["-p", folder, "-e", "stderr", "-c", file],
  },
];

for (const balancer of BALANCERS)
  test(`${balancer.name} with the manual's lines sends one API here and all else to nova-api, and breaks off what is broken off`, async (t) => {
    const program = tool(balancer.name);
    const { ironic, proxy } = await proxyScene(t, 3);
    const get = await behind(t, balancer, program, proxy.url);
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
    // The first page again and again.
    [ironic.page, ironic.markers] = [1, false];
    await assert.rejects(get("/v2.1/os-baremetal-nodes"));
  });

/** The balancer, once it answers. @returns the status and the body of a path, asked as an administrator */
async function behind(
  t: TestContext,
  { name, language, config, words }: Balancer,
  program: string,
  proxy: string,
): Promise<(path: string) => Promise<string>> {
  const nova = await listening(
    t,
    createServer(({ url }, response) => response.end(`nova-api ${url}`)),
  );
  const port = await freePort();
  const [lines = ""] = blocks(page("proxy"), language);
  assert.match(lines, /127\.0\.0\.1:8785/);
  const own = lines.replace("127.0.0.1:8785", proxy.replace("http://", ""));
  const user = owner(name, "www-data");
  const folder = privateFolder(`n2i-${name}-`, user);
  const file = join(folder, "conf");
  privateFile(file, config(own, port, nova.replace("http://", "")), user);
  const daemon = startDaemon(["true"], [program, ...words(folder, file)], {
    ...{ folder, signal: "TERM", owner: user },
  });
  t.after(daemon.stop);
  const get = async (path: string): Promise<string> => {
    const headers = { "X-Auth-Token": "admin" };
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
    return `${answer.status} ${await answer.text()}`;
  };
  await until(`${name} answers`, async () => {
    const said = await get("/").catch(String);
    assert.ok(daemon.running(), daemon.lastWords());
    return said.startsWith("200 nova-api") ? null : said;
  });
  return get;
}
