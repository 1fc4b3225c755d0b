import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { LEGACY_DATABASE } from "../../../grenade/lib/base.ts";
import { firstAlone } from "../../../grenade/lib/nova-races.ts";
import { run } from "../../hostile/cli.ts";
import { ended, owners, purged, servers } from "./host-tool.ts";
import { stopAndStart } from "./switched.ts";
import {
  aged,
  dumpedWhole,
  looked,
  reportsAhead,
  type TwoComputes,
  WATCHED_SECONDS,
} from "./two-computes.ts";
import type { TwoLegacy } from "./two-legacy.ts";

/** The same with the stand-in for nova.virt.baremetal: bm_nodes.service_host decides who lists a machine. */
export async function takenOverLegacy(cloud: TwoComputes, site: TwoLegacy): Promise<void> {
  const { a, b, tenants, places, env } = site;
  const bm = cloud.stack.db(LEGACY_DATABASE);
  const toolIn =
    (name: string) =>
    (...words: readonly string[]) => {
      const own = ["--run", join(cloud.folder, name)];
      return run([...words, ...own, ...(words[0] === "host" ? places : places.slice(2))], { env });
    };
  const says = toolIn("legacy");
  ended(await run(["host", "schema", "extend", ...places.slice(0, 2), "--yes"]), 0);
  const owned = async () => (await bm("bm_nodes").orderBy("id")).map((row) => row.service_host);
  a.signal("SIGKILL");
  const before = await servers(cloud, tenants);
  const down = ["--service-down-time", String(WATCHED_SECONDS), "--confirmed-down", "--yes"];
  const hosts = ["--from", a.host, "--to", b.host];
  const taken = await says("host", "takeover", ...hosts, ...down, ...site.boot);
  ended(taken, 0, /Host move: 3 machines moved/, `purge_queue compute.${a.host}`);
  await purged(cloud, a.host);
  assert.doesNotMatch(taken.out, /openstack port set/);
  assert.deepEqual(await owned(), [b.host, b.host, b.host]);
  assert.deepEqual(await owners(cloud, tenants), [
    [b.host, [b.host]],
    [b.host, [b.host]],
  ]);
  const there = await servers(cloud, tenants);
  assert.deepEqual(
    there.map((row) => ({ ...row, host: a.host })),
    before,
  );
  for (const { server } of tenants)
    for (const [file, image] of [
      ["kernel", "tenant-kernel"],
      ["ramdisk", "tenant-ramdisk"],
      ["deploy_kernel", "old-deploy-kernel"],
      ["deploy_ramdisk", "old-deploy-ramdisk"],
    ] as const)
      assert.equal(readFileSync(join(site.tree, server, file), "utf8"), `${image}\n`.repeat(64));
  for (const { server } of tenants)
    assert.deepEqual(await bootedBy(cloud, server), [b.host, site.addresses[1]]);
  ended(await says("verify", ...places.slice(0, 2), "--queue-purged"), 0);
  await looked(b);
  assert.deepEqual(site.told(), []);
  const cycle = async (): Promise<void> => {
    await firstAlone(tenants, (one) => stopAndStart(cloud.stack, one));
    const told = site.told();
    for (const { name } of tenants)
      assert.deepEqual(
        told.filter((line) => line.startsWith(`${name} `)),
        [`${name} power 0`, `${name} power 1`],
      );
    assert.equal(told.length, tenants.length * 2, told.join("\n"));
  };
  await cycle();
  // The old host comes back: no machine is its own, and it changes none.
  await a.start();
  await looked(a, 0);
  assert.deepEqual(await owned(), [b.host, b.host, b.host]);
  assert.deepEqual(await servers(cloud, tenants), there);
  assert.deepEqual(site.told(), []);
  ended(await says("verify", ...places.slice(0, 2), "--queue-purged"), 2, a.host);
  // And goes, as its new one does for the way back: a nova-compute that runs drops what it does not own.
  await Promise.all([a.stop(), b.stop()]);
  ended(await says("rollback", "--all", "--yes"), 0, /3 machines returned, 0 left/);
  assert.deepEqual(await owned(), [a.host, a.host, a.host]);
  assert.deepEqual(await servers(cloud, tenants), before);
  for (const { server } of tenants)
    assert.deepEqual(await bootedBy(cloud, server), [a.host, site.addresses[0]]);
  await exactly();
  await Promise.all([a.start(), b.start()]);
  await cycle();
  await standsStill();

  /** While no nova-compute runs, all of every row comes back, but for how often machines and locks changed hands. */
  async function exactly(): Promise<void> {
    const does = toolIn("legacy-exact");
    const dump = () => dumpedWhole(cloud, [LEGACY_DATABASE], ["service_epoch", "nonce", "token"]);
    const others = [cloud.a, cloud.b];
    for (const one of others) one.signal("SIGSTOP");
    await reportsAhead(cloud.nova, b.host);
    const whole = await dump();
    const quick = ["--service-down-time", "1", "--confirmed-down", "--yes"];
    ended(await does("host", "takeover", ...hosts, ...quick, ...site.boot), 0, /3 machines moved/);
    ended(await does("rollback", "--all", "--yes"), 0, /3 machines returned, 0 left/);
    assert.deepEqual(await dump(), whole);
    for (const one of others) one.signal("SIGCONT");
  }

  /** A host that stood still for as long as Nova takes to call it down, and goes on once its machines are another's. */
  async function standsStill(): Promise<void> {
    const does = toolIn("legacy-still");
    a.signal("SIGSTOP");
    await aged(cloud, a);
    ended(await does("host", "takeover", ...hosts, ...down, ...site.boot), 0, /3 machines moved/);
    const served = await servers(cloud, tenants);
    const since = a.log().length;
    a.signal("SIGCONT");
    await looked(a, since);
    assert.deepEqual(await owned(), [b.host, b.host, b.host]);
    assert.deepEqual(await servers(cloud, tenants), served);
    assert.deepEqual(site.told(), []);
    ended(await does("verify", ...places.slice(0, 2), "--queue-purged"), 2, a.host);
  }
}

/** Which host a server's port names, and from which address it boots. */
async function bootedBy({ stack }: TwoComputes, server: string): Promise<readonly unknown[]> {
  type Port = Record<string, unknown> & {
    readonly extra_dhcp_opts: readonly { readonly opt_name: string; readonly opt_value: string }[];
  };
  const found = await stack.asks<{ readonly ports: readonly Port[] }>(
    ...(["neutron", "GET", `/ports?device_id=${server}`] as const),
  );
  const [port] = found?.ports ?? [];
  const option = port?.extra_dhcp_opts.find(({ opt_name }) => opt_name === "tftp-server");
  return [port?.["binding:host_id"], option?.opt_value];
}
