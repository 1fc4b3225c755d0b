import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  below,
  factsOf,
  inFolder,
  linkTarget,
  uuidOf,
} from "../../../src/systems/tftp/rules/pxe-config.ts";
import { holds } from "../../support/seeded.ts";

const ROOT = "6f0ed4a2-2f3a-4b8e-9d58-3f7ef2a1c001";

test("keywords count in any case, lines may end as on DOS, and the last default counts", () => {
  const text = `DEFAULT deploy\r\nLabel boot\r\n  KERNEL k\r\n\tAppend initrd=r root=UUID=${ROOT} ro\r\ndefault boot\r\n`;
  assert.deepEqual(factsOf(text), {
    default: "boot",
    boot: { label: "boot", kernel: "k", ramdisk: "r", root: `UUID=${ROOT}`, args: "ro" },
    deploy: null,
  });
});

test("of two roots the last counts, as for the kernel; of two labels with one name the first", () => {
  const text = `label boot\nappend root=/dev/ram0 text root=UUID=${ROOT} ro\nlabel boot\nappend root=/dev/sda\n`;
  const { boot } = factsOf(text);
  assert.equal(boot?.root, `UUID=${ROOT}`);
  assert.equal(boot?.args, "text ro");
});

test("a placeholder with spaces is one root, and no uuid", () => {
  const { boot } = factsOf("label boot\nappend initrd=r root={{ ROOT }} ro text");
  assert.deepEqual([boot?.root, boot?.args], ["{{ROOT}}", "ro text"]);
  for (const root of ["{{ ROOT }}", "UUID=None", "UUID=", `${ROOT}`, `UUID=${ROOT}0`, null])
    assert.equal(uuidOf(root), null, String(root));
  assert.equal(uuidOf(`UUID=${ROOT.toUpperCase()}`), ROOT);
});

test("nothing of the one-time deploy key is kept", () => {
  const text = "label deploy\nkernel a\nappend initrd=b deployment_key=ONETIMEKEY\nlabel boot\n";
  assert.ok(!JSON.stringify(factsOf(text)).includes("ONETIMEKEY"));
});

test("a path is taken below its own root, and never out of it", () => {
  assert.equal(below("/tftpboot//a/./config", "/tftpboot/"), "a/config");
  assert.equal(below("a/config", "/tftpboot"), "a/config");
  assert.equal(below("/config", "/"), "config");
  const outside = ["/tftpboot", "/tftpbootx/a", "/tftpboot/a/../../b", "../a", "", "/tftpboot/\0"];
  for (const path of outside) assert.equal(below(path, "/tftpboot"), null, path);
});

test("below an unknown root a path counts by the folder it must stand in", () => {
  assert.equal(inFolder("/elsewhere/AB/config", "/tftpboot", "ab"), "AB/config");
  assert.equal(inFolder("/elsewhere/cd/config", "/tftpboot", "ab"), null);
});

test("a link's target may be relative to its folder, and not above the root", () => {
  assert.equal(linkTarget("../a/config", "/tftpboot", "a"), "a/config");
  assert.equal(linkTarget("other", "/tftpboot", "a"), "pxelinux.cfg/other");
  assert.equal(linkTarget("../../a/config", "/tftpboot", "a"), null);
});

test("no text makes reading fail, and a hostile one takes no longer than another", () => {
  const words = ["default", "label", "boot", "append", "root=", "{{", "}}", " ", "\n", "\r", "x"];
  const word = fc.constantFrom(...words);
  holds(100, fc.array(word), (some) => void JSON.stringify(factsOf(some.join(""))));
  // A parser that looks back at each character takes minutes here, and the guard of the file ends it.
  for (const text of ["{{", " ", "label boot\n", "((", "\r"])
    factsOf(`label boot\nappend a${text.repeat(400_000 / text.length)}z\n`);
});
