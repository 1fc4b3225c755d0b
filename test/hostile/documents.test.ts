import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { canary, finder, search } from "./canaries.ts";
import { assertRefusal, run, runs } from "./cli.ts";
import { type Deployment, plannedFiles } from "./deployment.ts";
import { treeOf } from "./digest.ts";
import { SITE, SMALL } from "./fleet.ts";

const secret = canary("document", "x");

/** Plans with this site document: refused, the run as it was, the secret in the document not told. */
async function refusedSite(made: Deployment, text: string, ...saying: RegExp[]): Promise<void> {
  const site = join(made.folder, "bad-site.yaml");
  writeFileSync(site, text);
  const before = treeOf(join(made.folder, "runs"));
  const ran = await run(["plan", ...made.at, ...made.reader, "--site", site, "-q"]);
  assert.deepEqual(search(finder([secret]), ran, [join(made.folder, "runs")]), [], ran.err);
  assertRefusal(ran, 64, "N2I-E103", /bad-site.yaml/, ...saying);
  assert.deepEqual(treeOf(join(made.folder, "runs")), before);
}

const FAULTS: { readonly [what: string]: (made: Deployment) => Promise<void> } = {
  "a malformed site document is refused with every fault, its path and the file": async (made) => {
    const set = { protected: "yes", driver_info: { a: [] } };
    const faults = {
      ...{ format: "nova2ironic/site@2", machine: [] },
      machines: [
        { match: { uid: "x" }, skip: "" },
        { match: {}, set, accept: [{ finding: "x" }] },
      ],
      drop: { "nodes.uuid": "why" },
    };
    await refusedSite(
      made,
      JSON.stringify(faults, null, 2),
      /line 2, column 13: \/format must be nova2ironic\/site@1/,
      /line 7, column 16: \/machines\/0\/match\/uid is not a known field/,
      ...[/\/machine is not a known field/, /\/machines\/0\/match/, /\/machines\/0\/skip/],
      ...[/\/machines\/1\/set\/protected/, /\/set\/driver_info\/a/],
      ...[/\/accept\/0 lacks reason/, /\/drop\/nodes.uuid does not have the form/],
    );
  },

  "a site document that holds a secret is refused, and the secret is not repeated": async (
    made,
  ) => {
    const set = (value: object): string =>
      JSON.stringify({ ...SITE, machines: [{ match: {}, set: value }] });
    const rule = (to: string): string =>
      JSON.stringify({ ...SITE, rules: { node: [{ to, value: secret.text, why: "it is so" }] } });
    await refusedSite(made, set({ driver_info: { ipmi_password: secret.text } }), /ipmi_password/);
    await refusedSite(made, set({ properties: { admin_pass: secret.text } }), /admin_pass/);
    await refusedSite(made, set({ password: secret.text }), /\/machines\/0\/set/);
    await refusedSite(made, rule("driver_info.ipmi_password"), /\/rules\/node\/0/);
    await refusedSite(made, rule("extra.api_token"), /\/rules\/node\/0/);
  },

  "a site document that is not YAML is refused with its line, and nothing of it is repeated":
    async (made) => {
      for (const text of [
        `format: nova2ironic/site@1\nmachines: [${secret.text}\n`,
        `format: "nova2ironic/site@1\npassword: ${secret.text}`,
        `a: &x 1\npassword: *${secret.text}\n`,
        `${secret.text}: 1\n${secret.text}: 2\n`,
        `!!${secret.text} x: y\n\t- ${secret.text}`,
        `- ${secret.text}\n`,
      ])
        await refusedSite(made, text);
      const site = join(made.folder, "bad-site.yaml");
      writeFileSync(site, `a: [${secret.text}\n`);
      const ran = await run(["plan", ...made.at, ...made.reader, "--site", site, "--debug"]);
      assert.match(ran.err, /line 2, column 1: /);
      assert.deepEqual(search(finder([secret]), ran, []), [], "nor with --debug");
    },

  "an empty, binary, endless or nested site document is refused within the memory of a small machine":
    async (made) => {
      const bomb = `a0: &a0 [x,x,x,x,x,x,x,x,x]\n${Array.from(
        { length: 12 },
        (_, at) => `a${at + 1}: &a${at + 1} [${Array(9).fill(`*a${at}`).join(",")}]`,
      ).join("\n")}\n`;
      for (const text of [
        "",
        "\0\x01\x02",
        "---\na: 1\n---\nb: 2\n",
        bomb,
        `${"[".repeat(20_000)}${"]".repeat(20_000)}`,
        `format: nova2ironic/site@1\nmachines:\n${"- {match: {id: 1}, skip: x, no: 1}\n".repeat(2_000)}`,
      ])
        await refusedSite(made, text);
      for (const path of ["/dev/zero", made.folder, join(made.folder, "none.yaml")]) {
        const ran = await run(["plan", ...made.at, ...made.reader, "--site", path, "-q"]);
        assertRefusal(ran, 64, "N2I-E103");
      }
    },

  "a nova.conf that cannot be read is refused with file and line, and nothing of it is repeated":
    async (made) => {
      const before = treeOf(join(made.folder, "runs"));
      const conf = join(made.folder, "bad.conf");
      const extract = ["extract", ...made.at, ...made.source, "--nova-conf", conf, "-q"];
      for (const text of [
        `[baremetal]\nvirtual_power_host_pass = ok\nno assignment ${secret.text}\n`,
        `[baremetal\nvirtual_power_host_pass = ${secret.text}\n`,
        ` continued = ${secret.text}\n`,
        `[baremetal]\nvirtual_power_ssh_port = ${secret.text}\n`,
        `[baremetal]\nflavor_extra_specs = ${secret.text}\n`,
        `[baremetal]\nvirtual_power_host_pass = \${${secret.text}}\ntftp_root = $nobody.${secret.text}\nflavor_extra_specs = $flavor_extra_specs\n`,
      ]) {
        writeFileSync(conf, text, { mode: 0o600 });
        const ran = await run(extract);
        assert.deepEqual(search(finder([secret]), ran, [join(made.folder, "runs")]), [], ran.err);
        assertRefusal(ran, 64, "N2I-E104", /bad\.conf:\d+/);
      }
      const debug = await run([...extract, "--debug"]);
      assert.deepEqual(search(finder([secret]), debug, []), [], debug.err);
      assert.deepEqual(treeOf(join(made.folder, "runs")), before);
    },

  "an entry that matches no machine is reported with its file and path": async (made) => {
    const site = join(made.folder, "misspelt.yaml");
    const entry = '  - {match: {uuid: "deadbeef-*"}, skip: returned}';
    writeFileSync(site, `format: nova2ironic/site@1\nmachines:\n${entry}\n  - match: {}\n`);
    const plan = ["plan", ...made.at, ...made.reader, "--allow-pairing"];
    const { out } = await runs(6, [...plan, "--site", site, "-q"]);
    assert.match(
      out,
      /N2I-D310 warning .*misspelt.yaml \/machines\/0\/match: no machine has \{"uuid":"deadbeef-\*"\}/,
    );
    assert.doesNotMatch(out, /machines\/1/);
  },
};

test("faults in documents of the operator are refused, and the run stays as it was", async (t) => {
  const made = await plannedFiles(t, SMALL);
  for (const [what, check] of Object.entries(FAULTS)) await t.test(what, () => check(made));
});
