import assert from "node:assert/strict";
import { test } from "node:test";
import { osloConfig } from "../../../src/lib/files/oslo.ts";
import { loadSettings } from "../../../src/migrate/open/documents.ts";
import { USUAL_PACE, WINDOW_PACE } from "../../../src/model/handover.ts";
import type { SettingsPart } from "../../../src/model/settings.ts";
import { releaseNames } from "../../../src/run/files/load-tables.ts";
import {
  desiredSettings,
  differingHosts,
  judgeSettings,
} from "../../../src/window/config/config.ts";

const DOC = await loadSettings();
const wanted = (release: string, exactFilters = false, part?: SettingsPart) =>
  desiredSettings(DOC, { release, exactFilters, part });
const keys = (release: string, ...more: [boolean?, "scheduler"?]) =>
  wanted(release, ...more).settings.map(({ section, key }) => `${section}/${key}`);
function judged(release: string, text: string, part?: SettingsPart) {
  const config = osloConfig([{ name: "nova.conf", bytes: Buffer.from(text) }]);
  const rows = judgeSettings("c-1", config, wanted(release, false, part).settings);
  return new Map(rows.map((row) => [row.key, row]));
}

const HOST_MANAGER = "[DEFAULT]\nscheduler_host_manager = ironic_host_manager\n";

/** The settings of the upgrade's specification, and the word that keeps tenants of other hosts. */
const JUNO = [
  ...["scheduler_host_manager", "compute_driver", "compute_manager", "firewall_driver"],
  ...["ram_allocation_ratio", "reserved_host_memory_mb"],
].map((key) => `DEFAULT/${key}`);
const LOGIN = ["admin_username", "admin_password", "admin_url", "admin_tenant_name"];

test("Juno needs the specification's keys, and exact filters add one", () => {
  const all = [
    ...[...JUNO, "workarounds/destroy_after_evacuate"],
    ...[...LOGIN, "api_endpoint"].map((key) => `ironic/${key}`),
  ];
  assert.deepEqual(keys("juno"), all);
  const added = keys("juno", true).filter((key) => !all.includes(key));
  assert.deepEqual(added, ["DEFAULT/scheduler_use_baremetal_filters"]);
  assert.deepEqual(keys("juno", false, "scheduler"), ["DEFAULT/scheduler_host_manager"]);
});

test("every release has a driver, no key twice, and says what is not known of it", () => {
  for (const release of releaseNames()) {
    const found = keys(release);
    assert.ok(found.includes("DEFAULT/compute_driver"), release);
    assert.equal(new Set(found).size, found.length, release);
  }
  assert.match(wanted("ocata").notes.join(), /Not known for ocata/);
  assert.match(wanted("2023.1").notes.join(), /Not known for 2023\.1/);
  assert.doesNotMatch(wanted("zed").notes.join(), /Not known/);
  assert.ok(!keys("newton").includes("DEFAULT/compute_manager"));
  assert.ok(keys("queens", true).includes("filter_scheduler/use_baremetal_filters"));
  assert.throws(() => wanted("rocky", true), /Nova of rocky has no exact filters/);
});

test("the releases a setting names exist", () => {
  for (const { since, until } of [...DOC.settings, ...DOC.notes])
    for (const name of [since, until])
      assert.ok(name === undefined || releaseNames().includes(name), name);
});

test("values are compared as oslo.config reads them, by each name that counts", () => {
  const rows = judged(
    "juno",
    "[DEFAULT]\ncompute_driver = ironic.IronicDriver\nram_allocation_ratio = 1\nfirewall_driver =\n[workarounds]\ndestroy_after_evacuate = no\n[ironic]\nadmin_password = hunter2\nadmin_username = CHANGE_ME\nadmin_url = http://a:hunter3@k/\n",
  );
  const right = ["compute_driver", "ram_allocation_ratio", "destroy_after_evacuate"];
  for (const key of [...right, "admin_password"]) assert.equal(rows.get(key)?.state, "right", key);
  for (const key of ["firewall_driver", "admin_username", "api_endpoint"])
    assert.equal(rows.get(key)?.state, "missing", key);
  assert.doesNotMatch(JSON.stringify([...rows.values()]), /hunter/);
  const old = judged("queens", HOST_MANAGER);
  assert.equal(old.get("host_manager")?.state, "right");
  const other = "[scheduler]\nhost_manager = host_manager\n";
  const both = judged("queens", `${HOST_MANAGER}${other}`);
  assert.equal(both.get("host_manager")?.state, "wrong");
  const domain = judged("zed", "[ironic]\nuser_domain_id = default\n");
  assert.equal(domain.get("user_domain_name")?.state, "right");
});

test("of ironic.conf a value that is better than the limit is right, and so is a default", () => {
  const keysOf = (text: string, release = "juno") =>
    [...judged(release, `[conductor]\n${text}`, "conductor").values()]
      .filter(({ state }) => state !== "right")
      .map(({ key, state }) => `${key} ${state}`);
  const two = ["sync_local_state_interval missing", "periodic_max_workers missing"];
  for (const release of releaseNames()) {
    assert.deepEqual(keysOf("", release), two, release);
    const { settings } = wanted(release, false, "conductor");
    const [interval, workers] = settings.map((one) => [Number(one.default), Number(one.value)]);
    assert.deepEqual(interval, [USUAL_PACE.interval, WINDOW_PACE.interval]);
    assert.deepEqual(workers, [USUAL_PACE.workers, WINDOW_PACE.workers]);
    assert.equal(settings.length, releaseNames().indexOf(release) < 9 ? 4 : 5, release);
    assert.ok(keys(release).every((key) => !key.startsWith("conductor/")));
  }
  const tuned = "sync_local_state_interval = 5\nperiodic_max_workers = 64\n";
  assert.deepEqual(keysOf(`${tuned}workers_pool_size = 1000\nsync_power_state_interval = 600`), []);
  for (const bad of ["0", "-1", "11", "5s"])
    assert.deepEqual(keysOf(tuned.replace("5", bad)), ["sync_local_state_interval wrong"], bad);
  const off = `${tuned}workers_pool_size = 50\nsync_power_state_interval = 0\n`;
  assert.deepEqual(keysOf(off), ["workers_pool_size wrong", "sync_power_state_interval wrong"]);
});

test("with ClusteredComputeManager all hosts have one name, and later ones need not", () => {
  const one = { host: "c-1", set: "ironic" };
  const two = [one, { host: "c-2", set: null }];
  assert.match(differingHosts(wanted("juno").settings, two) ?? "", /c-2 has none/);
  assert.equal(differingHosts(wanted("newton").settings, two), null);
  assert.equal(differingHosts(wanted("juno").settings, [one]), null);
  const same = two.map(({ host }) => ({ host, set: "ironic" }));
  assert.equal(differingHosts(wanted("juno").settings, same), null);
  const by = (name: string, inUse = false) => [{ name, inUse }];
  assert.equal(differingHosts(wanted("juno").settings, same, by("ironic")), null);
  const wrong = /must be metal, the host of the instances: c-1 has ironic$/;
  for (const release of ["juno", "train", "2024.1"]) {
    const { settings } = wanted(release);
    assert.match(differingHosts(settings, same.slice(0, 1), by("metal")) ?? "", wrong, release);
    assert.equal(differingHosts(settings, same, [...by("metal"), ...by("ironic")]), null);
  }
  const { settings } = wanted("train", false, "scheduler");
  assert.equal(differingHosts(settings, same, by("metal")), null);
});

test("a file without a host is right for a host that machines keep, and for no new one", () => {
  const own = [{ host: "c-1", set: null }];
  for (const release of ["juno", "train"]) {
    const { settings } = wanted(release);
    assert.equal(differingHosts(settings, own, [{ name: "c-1", inUse: true }]), null);
    const moved = differingHosts(settings, own, [{ name: "c-1", inUse: false }]);
    assert.match(moved ?? "", /must be c-1, .*: c-1 has none, so its own name$/);
    const other = differingHosts(settings, own, [{ name: "c-2", inUse: true }]);
    assert.match(other ?? "", /must be c-2, /);
  }
  const two = [...own, { host: "c-2", set: "c-1" }];
  assert.equal(differingHosts(wanted("juno").settings, two, [{ name: "c-1", inUse: true }]), null);
});
