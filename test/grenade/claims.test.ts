import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CLAIMS } from "../../grenade/expect/index.ts";
import { deployInterfaces } from "../../grenade/expect/nodes.ts";
import { type Claim, judge } from "../../grenade/lib/claim.ts";
import type { ObservedState } from "../../grenade/lib/seen.ts";
import { packageRoot } from "../../src/run/files/package-root.ts";

const NOTHING: ObservedState = {
  ...{ moments: {}, ran: [], acts: [], listed: [], by: "rows", held: 0 },
  fleet: {
    ...{ host: "", ramdisk: "", tenants: [], ill: [], doubted: [] },
    ...{ free: [], deleted: [], errored: [], held: [] },
    images: { old: ["", ""], new: ["", ""] },
  },
};

const claim = (given: Partial<Claim>): Claim => ({
  ...{ name: "it holds", phases: ["forward"], check: () => [], broken: (seen) => seen },
  ...given,
});

test("a claim of a rehearsal that saw nothing is not evaluated, none holds", () => {
  for (const one of CLAIMS) assert.equal(judge(one, NOTHING).result, "not evaluated", one.name);
});

test("a claim that stays green when what was seen is broken on purpose cannot fail, and counts as red", () => {
  assert.equal(judge(claim({}), NOTHING).result, "cannot fail");
  const honest = claim({
    check: ({ acts }) => acts.map(({ what }) => what),
    broken: (seen) => ({
      ...seen,
      acts: [{ phase: "", what: "stop", server: "", fault: null, seconds: 0 }],
    }),
  });
  assert.equal(judge(honest, NOTHING).result, "holds");
  assert.equal(judge(honest, honest.broken(NOTHING)).result, "fails");
});

test("a rehearsal fails if the machine on ramdisk is loaded as another deploy interface", () => {
  const seen = (a: string, b: string): ObservedState => {
    const nodes = { a: { deploy_interface: a }, b: { deploy_interface: b } };
    const moments = { after: { nodes } } as unknown as ObservedState["moments"]; // what the claim reads
    return { ...NOTHING, moments, fleet: { ...NOTHING.fleet, ramdisk: "a" } };
  };
  const results = [seen("ramdisk", "direct"), seen("direct", "direct"), seen("ramdisk", "ramdisk")];
  const judged = results.map((one) => judge(deployInterfaces, one).result);
  assert.deepEqual(judged, ["holds", "fails", "fails"]);
});

test("every claim of grenade/expect is in the list, says how to break it, and has a name of its own", () => {
  const folder = join(packageRoot(), "grenade", "expect");
  const text = (name: string) => readFileSync(join(folder, name), "utf8");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  const named = files
    .filter((name) => name !== "index.ts")
    .flatMap((name) => [...text(name).matchAll(/^export const (\w+): Claim/gm)])
    .map(([, name = ""]) => name);
  const listed = text("index.ts").split("CLAIMS")[1] ?? "";
  for (const name of named) assert.match(listed, new RegExp(`\\b${name}\\b`));
  assert.equal(CLAIMS.length, named.length);
  assert.equal(new Set(CLAIMS.map(({ name }) => name)).size, CLAIMS.length);
  const broken = files.flatMap((name) => [...text(name).matchAll(/^\/\*\* Broken by /gm)]);
  assert.equal(broken.length, named.length);
});
