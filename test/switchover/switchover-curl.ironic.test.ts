import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { BROKEN } from "../manage/scene.ts";
import { isWrite } from "../support/faulty-service.ts";
import { blocks, page } from "../support/manual.ts";
import { signal } from "../support/signal.ts";
import { SOURCE } from "./switch-memory.ts";
import { servedSwitchover } from "./switch-served.ts";

test("the manual's transcript of curl has every code, and what it shows", async (t) => {
  const { url, cloud, keystone, until } = await servedSwitchover(t);
  // The second PUT has to meet the first at work.
  const typedAll = signal();
  cloud.fail(isWrite, { done: true, before: typedAll.isSet }, 1);
  const away = await servedSwitchover(t);
  away.cloud.fail(/./, BROKEN);
  const [block = ""] = blocks(page("switchover"), "console");
  const lines = block.trimEnd().split("\n");
  const typed = lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
  const shown = lines.filter((line) => !line.startsWith("$ ")).join("\n");
  for (const code of [200, 202, 400, 401, 403, 404, 405, 406, 409, 413, 415, 503])
    assert.ok(shown.split("\n").includes(String(code)), String(code));
  const own = { URL: url(), AWAY: away.url(), TOKEN: "admin", MEMBER: "member" };
  const env = { PATH: process.env.PATH ?? "", ...own };
  const { stdout } = await promisify(execFile)("sh", ["-c", typed.join("\n")], { env });
  typedAll.set();
  assert.equal(stdout.trimEnd(), shown);
  await until(SOURCE, "DONE");
  assert.ok(cloud.calls.length > 0 && keystone.tokens.size > 0);
});
