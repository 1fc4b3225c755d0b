import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { PassThrough, Writable } from "node:stream";
import { test } from "node:test";
import { writeAll } from "../../../src/cli/print/out.ts";

test("a slow reader slows the rows down: little is held in between", async () => {
  const out = new PassThrough({ highWaterMark: 1000 });
  let most = 0;
  let read = 0;
  async function* chunks(): AsyncIterable<string> {
    for (let at = 0; at < 500; at++) {
      most = Math.max(most, out.writableLength + out.readableLength);
      yield "x".repeat(100);
    }
  }
  const reader = setInterval(() => {
    read += String(out.read() ?? "").length;
  }, 1);
  await writeAll(out, chunks());
  clearInterval(reader);
  read += String(out.read() ?? "").length;
  assert.equal(read, 50_000);
  assert.ok(most <= 2200, `${most} bytes were held`);
});

test("a stream that breaks is a refusal, not a hang", async () => {
  const full = new Writable({ write: (_chunk, _encoding, done) => done(new Error("ENOSPC")) });
  await assert.rejects(writeAll(full, ["a", "b"]), { code: "N2I-E120" });
  await assert.rejects(writeAll(full, ["a"]), { code: "N2I-E120" });
});

test("when the reader of a pipe goes away, the process ends with 141 and says nothing", async () => {
  const print = new URL("../../../src/cli/print/", import.meta.url).href;
  const program = `
    import { endOnLostReader } from "${print}../interrupt.js";
    import { printView } from "${print}out.js";
    import { ioOf } from "${print}../io.js";
    ioOf(process);
    endOnLostReader(process);
    function* rows() { for (;;) yield ["row"]; }
    await printView({ columns: ["A"], rows: rows() }, { format: "value" });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program]);
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  child.stdout.once("data", () => child.stdout.destroy());
  const [status] = await once(child, "close");
  assert.deepEqual({ status, said }, { status: 141, said: "" });
});
