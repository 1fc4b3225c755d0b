import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { JsonObject } from "../../../../src/lib/json.ts";
import {
  createMethods,
  methodOf,
  type PowerMethod,
} from "../../../../src/migrate/transform/power-query.ts";
import { createTransform } from "../../../../src/migrate/transform/transform.ts";
import type { Machine } from "../../../../src/model/machine.ts";
import type { Mapping, Rule, Site } from "../../../../src/model/mapping.ts";
import { type Desired, nodeOf } from "../../../../src/model/plan.ts";
import type { PowerReading } from "../../../../src/model/power.ts";
import { openSnapshot } from "../../../../src/run/run.ts";
import type { Case } from "../../../cases/case.ts";
import { mappings, withCase } from "../../../support/planned-case.ts";

/** The first release that reads a key; those not named here are read by all. @source tags of ironic */
const SINCE: { readonly [key: string]: string } = {
  ipmi_protocol_version: "liberty",
  ipmi_port: "mitaka",
  ipmi_hex_kg_key: "stein",
  ipmi_cipher_suite: "victoria",
};

const from = (to: string, column: string): Rule => ({
  to: `driver_info.${to}`,
  from: `bm_nodes.${column}`,
});

/**
 * Every key of the ipmitool driver, and whether the power is reached by it. A key that is new in
 * Ironic belongs here. @source ironic master, ipmitool.py COMMON_PROPERTIES and CONSOLE_PROPERTIES
 */
const IPMI: readonly (readonly [key: string, value: string | number | Rule, reaches: boolean])[] = [
  ["ipmi_address", "10.9.9.9", true],
  ["ipmi_username", "root", true],
  ["ipmi_password", from("ipmi_password", "bmc_password"), true],
  ["ipmi_port", 6230, true],
  ["ipmi_port", "6230", true],
  ["ipmi_port", "none", true],
  ["ipmi_priv_level", "OPERATOR", true],
  ["ipmi_priv_level", "USER", true],
  ["ipmi_hex_kg_key", from("ipmi_hex_kg_key", "bmc_kg_key"), true],
  ["ipmi_cipher_suite", 3, true],
  ["ipmi_cipher_suite", "17", true],
  ["ipmi_cipher_suite", 8, true],
  ["ipmi_protocol_version", "1.5", true],
  ["ipmi_bridging", "single", true],
  ["ipmi_transit_channel", 0, false],
  ["ipmi_transit_address", 0, false],
  ["ipmi_target_channel", 0, false],
  ["ipmi_target_address", 0, false],
  ["ipmi_local_address", 0, false],
  ["ipmi_force_boot_device", "true", false],
  ["ipmi_disable_boot_timeout", "true", false],
  ["ipmi_terminal_port", 9000, false],
];
const SSH: typeof IPMI = [
  ["ssh_address", "10.9.9.9", true],
  ["ssh_port", 2222, true],
  ["ssh_username", "virt", true],
  ["ssh_virt_type", "vbox", true],
  ["ssh_key_filename", "/root/key", true],
  ["ssh_password", from("ssh_password", "bmc_password"), false],
  ["ssh_key_contents", from("ssh_key_contents", "bmc_kg_key"), true],
];
const DRIVERS: readonly JsonObject[] = [
  ...["fake", "pxe_ipmitool", "pxe_ssh", "pxe_drac", "redfish"].map((driver) => ({ driver })),
  ...["fake", "ipmi", "virtual-power", "iboot"].map((power_manager) => ({ power_manager })),
];

const HOSTS: Case["nova_conf"] = {
  "*": {
    power_manager: "nova.virt.baremetal.virtual_power_driver.VirtualPowerManager",
    ...{ virtual_power_ssh_host: "10.1.0.1", virtual_power_host_user: "stack" },
    virtual_power_host_key: "/root/own-key",
  },
};

function caseOf(nova_conf?: Case["nova_conf"]): Case {
  const columns = { bm_nodes: { bmc_password: "TEXT", bmc_kg_key: "TEXT" } };
  const nodes = [{ id: 1, bmc_password: "another", bmc_kg_key: "00112233" }];
  const given = { shows: "a machine with columns of a fork", nova_bm: { nodes, columns } };
  return { ...given, ...(nova_conf !== undefined && { nova_conf }), power: true };
}

const UNREAD = { "bm_nodes.bmc_password": "tried", "bm_nodes.bmc_kg_key": "tried" };
const IMAGES = {
  deploy_kernel: "k",
  deploy_ramdisk: "r",
  resource_class: "c",
  root_uuid: "abcdef01-01",
};

function siteOf(set: JsonObject, node: readonly Rule[] = []): Site {
  const machines = [{ match: {}, set: { ...IMAGES, ...set } }];
  return { machines, rules: { node, port: [] }, drops: node.length > 0 ? {} : UNREAD };
}

function siteWith([key, value]: (typeof IPMI)[number]): Site {
  if (typeof value !== "object") return siteOf({ driver_info: { [key]: value } });
  const rest = ["bmc_password", "bmc_kg_key"].filter((name) => value.from !== `bm_nodes.${name}`);
  return {
    ...siteOf({}, [value]),
    drops: Object.fromEntries(rest.map((name) => [`bm_nodes.${name}`, "tried"])),
  };
}

interface ObservedState {
  readonly asked: PowerMethod;
  /** By the records that would be loaded; null where none would be. */
  readonly loaded: PowerMethod | null;
  /** Codes of a plan with a reading that was asked in this way. */
  readonly judged: (way: PowerMethod) => readonly string[];
}

/** How a conductor would ask by the records that are loaded. */
function wayOfLoaded(records: readonly Desired[], keys: readonly string[]): PowerMethod {
  const ports = records.filter(({ resource }) => resource === "port");
  const macs = ports.map(({ row }) => String(row.address));
  return methodOf(nodeOf(records) ?? {}, macs, keys);
}

/** Looks at the one machine of a case, for any release and site document. */
async function looking(
  given: Case,
  work: (look: (release: string, site: Site) => ObservedState) => void,
): Promise<void> {
  await withCase(given, async ({ run }) => {
    const snapshot = await openSnapshot(join(run.path, "snapshot.jsonl"));
    const machines: Machine[] = [];
    for await (const batch of snapshot.lines())
      machines.push(...batch.flatMap((line) => ("orphan" in line ? [] : [line])));
    const [machine] = machines;
    assert.ok(machine);
    const { hosts, columns } = snapshot.header;
    const docs = mappings.releases.map(({ doc }) => doc);
    // Compiled once: what the site document says is read when a transform is made.
    const known = new Map<string, Mapping>();
    work((name, site) => {
      const release = mappings.releases.find(({ doc }) => doc.release === name);
      assert.ok(release, name);
      const mapping = { ...(known.get(name) ?? mappings.forRelease(release, site)), site };
      known.set(name, mapping);
      const { power_keys, ipmitool } = release.doc;
      const { desired } = createTransform(mapping, { hosts, columns }, () => [], null).machine(
        machine,
      );
      const asked = createMethods(mapping, docs, hosts, columns)(machine);
      assert.ok(asked);
      return {
        asked,
        loaded: desired.length === 0 ? null : wayOfLoaded(desired, power_keys),
        judged: (way) => {
          const reading = readingOf(way, ipmitool);
          const view = { readings: new Map([[1, reading]]), unreachable: null, record: false };
          const transform = createTransform(mapping, { hosts, columns }, () => [], view);
          return transform.machine(machine).findings.map(({ code }) => code);
        },
      };
    });
  });
}

function readingOf(way: PowerMethod, ipmitool: string): PowerReading {
  const asked = { words: way.query, ipmitool, machines: [way.digest] };
  const told = { bm_node_ids: [1], verdict: "ok", power: "on", client: "native", detail: "" };
  // The gate reads no more of it.
  return { ...told, suite: null, warnings: [], asked } as unknown as PowerReading;
}

/** Each reads another set of keys, or has other drivers. */
const RELEASES = ["juno", "liberty", "mitaka", "stein", "victoria"];

for (const [what, keys, hosts] of [
  ["a BMC", IPMI, undefined],
  ["a virtual machine's host", SSH, HOSTS],
] as const)
  test(`every key by which ${what} is reached changes what is asked, as it changes what is loaded`, async () => {
    await looking(caseOf(hosts), (look) => {
      for (const row of keys) {
        const [key, value, reaches] = row;
        const since = RELEASES.indexOf(SINCE[key] ?? "juno");
        for (const release of RELEASES.slice(Math.max(0, since - 1), since + 1)) {
          const plain = look(release, siteOf({}));
          const named = `${release}: ${key} ${JSON.stringify(value)}`;
          const seen = look(release, siteWith(row));
          if (seen.loaded !== null) assert.deepEqual(seen.asked, seen.loaded, named);
          const matters = reaches && RELEASES.indexOf(release) >= since;
          assert.equal(seen.asked.digest !== plain.asked.digest, matters, named);
          assert.ok(!seen.judged(seen.asked).includes("N2I-D612"), named);
          assert.equal(seen.judged(plain.asked).includes("N2I-D612"), matters, named);
        }
      }
    });
  });

test("whichever driver is set, what is asked is what would be loaded", async () => {
  for (const [hosts, releases] of [
    [undefined, ["juno", "2026.1"]],
    [HOSTS, ["juno"]],
  ] as const)
    await looking(caseOf(hosts), (look) => {
      for (const release of releases)
        for (const set of DRIVERS) {
          const info = { ipmi_address: "10.9.9.9", ssh_address: "10.1.0.9" };
          const seen = look(release, siteOf({ ...set, driver_info: info }));
          const named = `${release} ${JSON.stringify(set)}`;
          if (seen.loaded === null) continue;
          assert.deepEqual(seen.asked, seen.loaded, named);
          assert.ok(!seen.judged(seen.asked).includes("N2I-D612"), named);
        }
    });
});
