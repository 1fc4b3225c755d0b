import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { Engine } from "../src/model/database.ts";
import { loadIronic } from "./cases/load-case.ts";
import { everything } from "./support/everything.ts";
import {
  ENGINES,
  extractedFrom,
  filled,
  type Loaded,
  machines,
  roundTrip,
  runOn,
  sameLines,
  written,
} from "./support/round-trip.ts";

test("every engine gives the same answers, as source and as target", async (t) => {
  const given = everything();
  const files = await written(given, t);
  const sources = new Map<Engine, string>();
  for (const engine of ENGINES) {
    const path = await extractedFrom(engine, given, files, t);
    sources.set(engine, path);
  }
  let first: Loaded | undefined;
  const snapshot = machines(join(sources.get("sqlite") ?? "", "snapshot.jsonl"));
  for (const [engine, path] of sources)
    sameLines(machines(join(path, "snapshot.jsonl")), snapshot, `snapshot from ${engine}`);
  for (const engine of ENGINES) {
    const ironic = await filled(engine, t, false, (db) => loadIronic(db, engine, given));
    for (const [from, path] of sources) {
      const what = `from ${from} into ${engine}`;
      const loaded = await roundTrip(await runOn(path, ironic, files), what);
      first ??= loaded;
      sameLines(loaded.plan, first.plan, `plan ${what}`);
      assert.equal(loaded.content, first.content, `rows ${what}`);
    }
  }
});

test("a Latin-1 nova_bm is read like a UTF-8 one", async (t) => {
  const given = everything(true);
  const files = await written(given, t);
  const latin1 = await extractedFrom("mysql", given, files, t, "latin1");
  const plain = await extractedFrom("sqlite", given, files, t);
  sameLines(
    machines(join(latin1, "snapshot.jsonl")),
    machines(join(plain, "snapshot.jsonl")),
    "snapshot",
  );
});
