import assert from "node:assert/strict";
import { test } from "node:test";
import { applyPatch, parsePatch, reversePatch } from "diff";
import fc from "fast-check";
import { osloConfig } from "../../../src/lib/files/oslo.ts";
import { type Edit, settingsPatch, withEdits } from "../../../src/window/config/patch.ts";
import { holds } from "../../support/seeded.ts";

const SECRET = "hunter2";
const EDITS: readonly Edit[] = [
  { section: "DEFAULT", key: "compute_driver", value: "ironic.IronicDriver" },
  { section: "ironic", key: "admin_password", value: "CHANGE_ME" },
  { section: "ironic", key: "api_endpoint", value: "CHANGE_ME" },
];
const inForce = (text: string, { section, key }: Edit): string | null =>
  osloConfig([{ name: "f", bytes: Buffer.from(text) }]).get(section, key);

test("a value stands where the old one, its sample or its section is", () => {
  const ironic = "[Ironic]\napi_endpoint = a,\n  b\n# last\n";
  const text = `[DEFAULT]\n#compute_driver=<None>\nmy_ip = 1\n\n${ironic}`;
  assert.equal(
    withEdits(text, EDITS),
    "[DEFAULT]\n#compute_driver=<None>\ncompute_driver = ironic.IronicDriver\nmy_ip = 1\n\n[Ironic]\napi_endpoint = CHANGE_ME\n# last\nadmin_password = CHANGE_ME\n",
  );
  assert.equal(
    withEdits("[DEFAULT]\r\na = 1", EDITS.slice(0, 2)),
    "[DEFAULT]\r\na = 1\r\ncompute_driver = ironic.IronicDriver\r\n\r\n[ironic]\r\nadmin_password = CHANGE_ME\r\n",
  );
});

const LINES = [
  ...["a = 1", "", "# a comment", "compute_driver = libvirt", "api_endpoint = x,", "  y"],
  ...["#compute_driver=<None>", "[ironic]", "[DEFAULT]", "[other]", "admin_password ="],
  ...[`rabbit_password = ${SECRET}`, `# once the password was ${SECRET}`, `\t${SECRET}`],
  ...[`connection = mysql://nova:${SECRET}@db/nova`, "transport_url = rabbit://u:$pass@h,"],
  "b = 2",
];
/** Files as oslo.config takes them: a value goes on only below one, a secret one below a secret. */
const FILE = fc
  .array(fc.constantFrom(...LINES), { maxLength: 25 })
  .map((lines) => ["[DEFAULT]", ...lines])
  .map((lines) =>
    lines.filter((line, at) => {
      const above = lines[at - 1] ?? "";
      if (line === "  y") return above === "api_endpoint = x,";
      return line !== `\t${SECRET}` || /^(rabbit_password|connection)/.test(above);
    }),
  )
  .chain((lines) => fc.constantFrom("\n", "").map((end) => `${lines.join("\n")}${end}`));

test("a patch shows no secret, can be applied, and leaves every value in force", () => {
  holds(300, FILE, (text) => {
    const patch = settingsPatch("nova.conf", text, EDITS);
    assert.ok(!patch.includes(SECRET), patch);
    const whole = patch.includes("\n\\ ") ? text : `${text.replace(/\n$/, "")}\n`;
    const changed = patch === "" ? text : applyPatch(whole, patch);
    assert.equal(changed, withEdits(patch === "" ? text : whole, EDITS), patch);
    for (const edit of EDITS) assert.equal(inForce(String(changed), edit), edit.value);
    assert.equal(settingsPatch("nova.conf", String(changed), EDITS), "");
    const [parsed] = parsePatch(patch);
    if (parsed !== undefined && patch !== "" && !patch.includes("(masked)"))
      assert.equal(applyPatch(String(changed), reversePatch(parsed)), whole, patch);
  });
});

test("lines that end with a carriage return alone make no patch", () => {
  const text = "[DEFAULT]\ra = 1\rrabbit_password = hunter2\rcompute_driver = b\r";
  assert.throws(() => settingsPatch("f", text, EDITS), /only a carriage return/);
  assert.equal(settingsPatch("f", text, []), "");
  const windows = settingsPatch("f", text.replaceAll("\r", "\r\n"), EDITS);
  assert.match(windows, /^\+compute_driver = ironic.IronicDriver\r$/m);
  assert.doesNotMatch(windows, /hunter2/);
});

test("a byte order mark before a secret makes no patch: the fix removes the mark", () => {
  const text = "\uFEFF#rabbit_password = hunter2\n[DEFAULT]\n";
  const fix = { code: "N2I-E104", fix: /sed -i '1s\/\^\\xEF\\xBB\\xBF\/\/' nova\.conf$/ };
  assert.throws(() => settingsPatch("nova.conf", text, EDITS), fix);
  assert.doesNotMatch(settingsPatch("nova.conf", text.slice(1), EDITS), /masked/);
});

test("what the patch itself adds is never masked, whatever its key is called", () => {
  const own = [
    { section: "ironic", key: "auth_type", value: "password" },
    { section: "ironic", key: "auth_url", value: "http://keystone:5000/v3" },
  ];
  const plugin = "[ironic]\nauth_type = v3applicationcredential\n"; // whose name is no secret
  for (const text of [plugin, "[DEFAULT]\nhost = a\n", "[ironic]\nuser = x\n", "", "[A]\r\n"]) {
    const patch = settingsPatch("nova.conf", text, own);
    assert.doesNotMatch(patch, /masked/);
    assert.equal(applyPatch(text, patch), withEdits(text, own), JSON.stringify(text));
  }
});

test("a line that is replaced and may hold a secret is masked", () => {
  const text = "[DEFAULT]\ncompute_driver = http://me:hunter2@here/\n";
  const patch = settingsPatch("nova.conf", text, EDITS.slice(0, 1));
  assert.match(patch, /^-\(masked\)\n\+compute_driver = ironic/m);
  assert.doesNotMatch(patch, /hunter2/);
});
