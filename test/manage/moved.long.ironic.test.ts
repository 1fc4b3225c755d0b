import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { until } from "../../grenade/lib/wait.ts";
import { runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { needsProgram } from "../lab/binaries.ts";
import { startIpmiSim } from "../lab/bmc/sims.ts";
import { needsTools } from "../lab/bmc/tools.ts";
import { apiOf } from "../lab/ironic/api.ts";
import { telling } from "../lab/ironic/telling.ts";
import { withIronic } from "../lab/ironic/with-ironic.ts";
import { blocks, page } from "../support/manual.ts";
import { uuidOf } from "./in-memory.ts";

const PASSWORD = "of-the-lab";
const IMAGE = uuidOf(5, 1);
const CLIENT = { title: "Ironic's client", packages: ["python3-ironicclient"] } as const;

test("a machine that runs goes from one Ironic to another as the page says, is managed in each, and no BMC hears of it", async (t) => {
  const tools = needsTools("ipmi_sim", "ipmitool");
  const client = needsProgram("baremetal", CLIENT);
  const here = await withIronic(t, "mysql");
  const there = await withIronic(t, "mysql");
  const sim = await startIpmiSim(tools.ipmi_sim, [{ power: true, password: PASSWORD }]);
  t.after(sim.stop);
  const [leaves = "", comes = ""] = blocks(theMove(), "console");
  const says = async (url: string, block: string): Promise<void> => {
    const named = { "192.0.2.1": sim.addresses[0] ?? "", ID: IMAGE, NODE_UUID: "" };
    for (const line of block.trim().split("\n")) {
      const words = ["--os-auth-type", "none", "--os-endpoint", url, ...wordsOf(line, named)];
      const { stdout } = await promisify(execFile)(client, words);
      named.NODE_UUID = /\| uuid +\| (\S+)/.exec(stdout)?.[1] ?? named.NODE_UUID;
    }
  };
  const folder = privateFolder(t);
  const record = async (url: string, name: string): Promise<void> => {
    const words = ["--ironic-url", url, "-f", "json"];
    const { out } = await runs(0, ["node", "list", "--adoptable", ...words]);
    assert.match(out, /"Name": "n-1"/);
    await runs(0, ["node", "manage", "n-1", name, "--run", join(folder, name), ...words]);
  };
  await says(here.url, comes);
  await record(here.url, "web-there");
  const old = apiOf(here);
  assert.equal((await old("DELETE", "/v1/nodes/n-1")).status, 409, "not without maintenance");
  const patch = [{ op: "replace", path: "/protected", value: true }];
  await telling(here).tell("PATCH", "/v1/nodes/n-1", patch);
  const [, unprotect = ""] = /`(openstack baremetal node unset [^`]*)`/.exec(theMove()) ?? [];
  await says(here.url, unprotect);
  await says(here.url, leaves);
  for (const kind of ["allocations", "nodes"])
    assert.deepEqual((await old("GET", `/v1/${kind}`)).body, { [kind]: [] });
  await says(there.url, comes);
  await record(there.url, "web-here");
  const other = apiOf(there);
  await until("its new conductor has looked at it", async () => {
    const { power_state, provision_state, instance_uuid, maintenance } = (
      await other("GET", "/v1/nodes/n-1")
    ).body as { readonly [field: string]: unknown };
    assert.deepEqual([provision_state, maintenance], ["active", false]);
    assert.notEqual(instance_uuid, null);
    return power_state === "power on" ? null : String(power_state);
  });
  assert.ok(sim.power(0));
  assert.deepEqual(sim.commands(), []);
});

/** The page's part, up to the next heading. */
function theMove(): string {
  const [, after = ""] = page("managing").split("## Move a machine to another cloud\n");
  return after.split("\n## ")[0] ?? "";
}

/** A line of the page with this lab's names in place of its own, and with what stands for `...` there. */
function wordsOf(line: string, named: { readonly [word: string]: string }): readonly string[] {
  const [command, noun, ...words] = line.match(/"[^"]*"|\S+/g) ?? [];
  assert.deepEqual([command, noun], ["openstack", "baremetal"]);
  const more = words.includes("create")
    ? ["ipmi_username=admin", `ipmi_password=${PASSWORD}`, "ipmi_cipher_suite=3"].flatMap(
        (info) => ["--driver-info", info],
      )
    : ["--instance-info", 'capabilities={"boot_option": "local"}'];
  return words.flatMap((word) =>
    word === "..."
      ? more
      : [word.replaceAll('"', "").replace(/[^=]+$/, (own) => named[own] ?? own)],
  );
}
