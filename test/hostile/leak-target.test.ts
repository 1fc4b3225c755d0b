import { test } from "node:test";
import type { Json } from "../../src/lib/json.ts";
import { canary } from "./canaries.ts";
import { deploySecrets, type Secrets } from "./secrets-case.ts";

const NODE = "a0000000-0000-4000-8000-000000000001";
const FORMATS = ["table", "json", "yaml", "csv", "value"];

async function loaded(made: Secrets): Promise<void> {
  const { at, source, reader, writer, plan } = made;
  await made.silently(0, ["extract", ...at, ...source, "-q"]);
  await made.silently(0, ["plan", ...at, ...reader, ...plan, "-q"]);
  await made.silently(3, ["apply", ...at, ...writer, "--yes", "--skip-blocked", "-q"]);
}

async function lookedAt(made: Secrets, formats: readonly string[]): Promise<void> {
  const { at, reader, writer, plan, run } = made;
  for (const format of formats) await made.silently(2, ["verify", ...at, ...reader, "-f", format]);
  for (const [status, words] of [
    [0, ["plan", ...at, ...reader, ...plan, "--diff", "--all", "--debug"]],
    [0, ["show", `${run}/plan`, "--diff", "1"]],
    [2, ["rollback", ...at, ...writer, "--node", "1", "--yes", "-f", "json"]],
  ] as const)
    await made.silently(status, words);
}

let count = 0;
/** Another number each time, that nothing else has. */
function digits(): string {
  count += 1;
  return String(271_828_182_845_904 + 98_765_432_109 * count);
}

/** What somebody else may have put into a loaded node: each holds a secret. */
const CHANGES: readonly ((made: Secrets) => { readonly [column: string]: Json })[] = [
  (made) => ({ driver_info: { ipmi_password: made.watch(canary("changed")).text } }),
  // An old client made a number of it.
  (made) => {
    const text = digits();
    made.watch({ name: "number", text, words: [text] });
    return { driver_info: { ipmi_password: Number(text) } };
  },
  (made) => ({
    driver_info: {
      users: [{ name: "root", password: made.watch(canary("in a list")).text }],
      credentials: { root: made.watch(canary("below a secret name")).text },
      passwords: [made.watch(canary("list of secrets")).text],
    },
  }),
  // A config drive holds the tenant's.
  (made) => ({
    instance_info: {
      configdrive: Buffer.from(made.watch(canary("config drive")).text).toString("base64"),
    },
  }),
  (made) => ({ driver_info: `{"ipmi_password": "${made.watch(canary("cut short", "x")).text}` }),
];

test("a secret that somebody put into Ironic is told as a difference, and not shown", async (t) => {
  const made = await deploySecrets("sqlite", t);
  await loaded(made);
  const held = made.ironic.db("nodes").where({ uuid: NODE });
  const [as] = await held.clone();
  for (const change of CHANGES) {
    const columns = Object.entries(change(made)).map(([column, value]) => [
      column,
      typeof value === "string" ? value : JSON.stringify(value),
    ]);
    await held
      .clone()
      .update({
        ...{ driver_info: as.driver_info, instance_info: as.instance_info },
        ...Object.fromEntries(columns),
      });
    await lookedAt(made, change === CHANGES[0] ? FORMATS : ["json"]);
  }
});

test("a node somebody else enrolled is told as a conflict, its secrets not shown", async (t) => {
  const made = await deploySecrets("sqlite", t);
  const { at, source, reader, writer, plan } = made;
  await made.ironic
    .db("nodes")
    .insert({
      uuid: NODE,
      driver: "fake",
      driver_info: JSON.stringify({ ipmi_password: made.watch(canary("theirs")).text }),
      extra: JSON.stringify({ token: made.watch(canary("token in extra")).text }),
    });
  for (const [status, words] of [
    [0, ["extract", ...at, ...source]],
    [0, ["plan", ...at, ...reader, ...plan, "--allow-other-nodes", "--diff", "--all"]],
    [4, ["apply", ...at, ...writer, "--yes", "--debug"]],
    [3, ["apply", ...at, ...writer, "--yes", "--skip-blocked"]],
    [0, ["verify", ...at, ...reader]],
  ] as const)
    await made.silently(status, words);
});
