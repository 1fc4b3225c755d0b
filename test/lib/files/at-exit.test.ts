import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { takeLock } from "../../../src/lib/files/lock-file.ts";
import { createTemp } from "../../../src/lib/files/temp-file.ts";

/**
 * What stands on the disk for the time of a command: one file each. A signal ends the process
 * between two turns of its loop, and what the thread pool has begun by then still happens.
 */
const MADE: readonly Made[] = [
  {
    what: "a lock",
    async make(folder, made) {
      const release = await takeLock(join(folder, "run.lock"), "test");
      made();
      await release();
    },
  },
  {
    what: "a new file",
    async make(folder, made) {
      const temp = await createTemp(folder, "plan.jsonl");
      made();
      await temp.drop();
    },
  },
];

interface Made {
  readonly what: string;
  readonly make: (folder: string, made: () => void) => Promise<void>;
}

for (const { what, make } of MADE)
  test(`${what} is removed at exit from the moment it is there, and is never there in part`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "n2i-exit-"));
    const before = process.env.TMPDIR;
    process.env.TMPDIR = folder;
    t.after(() => {
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
      rmSync(folder, { recursive: true, force: true });
    });
    const others = process.listenerCount("exit");
    const faults = new Set<string>();
    let state: "making" | "made" | "over" = "making";
    const look = (): void => {
      if (state === "over") return;
      const there = namesIn(folder);
      const told = there.map((name) => name.replaceAll(/[\d-][\w-]*/g, "")).join(" ");
      if (there.length > 0 && process.listenerCount("exit") === others) faults.add(`${told} stays`);
      if (state === "making" && there.length > 1) faults.add(told);
      if (/lock.*tmp/.test(told)) faults.add(told);
      setImmediate(look);
    };
    look();
    for (let times = 0; times < 20; times += 1) {
      state = "making";
      await make(folder, () => {
        state = "made";
        assert.equal(readdirSync(folder, { recursive: true }).length, 1);
      });
    }
    state = "over";
    assert.deepEqual([...faults], []);
    assert.deepEqual(readdirSync(folder), []);
  });

/** None where what was there goes while it is listed. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" });
  } catch {
    return [];
  }
}
