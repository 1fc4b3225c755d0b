import assert from "node:assert/strict";
import { test } from "node:test";
import { type Suite, suiteOf } from "../../../src/lib/ipmi/crypto.ts";
import { decide, type LoginFailure, noLogins, outOfTime } from "../../../src/lib/ipmi/policy.ts";

const SUITES = [17, 3].map((id): Suite => suiteOf(id) ?? assert.fail(`suite ${id}`));

const begun = () => {
  const [suite] = SUITES;
  assert.ok(suite !== undefined);
  return noLogins({ suite, level: "ADMINISTRATOR", namesLevel: false });
};

/** Decides on each outcome in turn; what was done, and the last verdict. */
function story(outcomes: readonly LoginFailure[]): readonly string[] {
  const told: string[] = [];
  const logins = begun();
  for (const outcome of outcomes) {
    const next = decide(outcome, logins, SUITES, 0.5);
    if (typeof next !== "number") return [...told, next.verdict];
    const { suite, level, namesLevel } = logins.attempt;
    told.push(`${suite.id} ${level[0]}${namesLevel ? "!" : ""} ${next}`);
  }
  return told;
}

const open = (status: number): LoginFailure => ({ kind: "status", stage: "Open Session", status });
const rakp2 = (status: number): LoginFailure => ({ kind: "status", stage: "RAKP 2", status });
const silent = (stage: "Open Session" | "RAKP 2" | "RAKP 4" | "session"): LoginFailure => ({
  ...{ kind: "silent", stage },
});
const [kg, password] = [
  ...[{ kind: "mismatch", of: "kg" } as const, { kind: "mismatch", of: "password" } as const],
] as const;
const level: LoginFailure = { kind: "level", code: 0x81 };
const unnamed = Array<LoginFailure>(8).fill(silent("RAKP 2"));
const lower = ["17 A 0", "17 O! 0"];

/** What is known of a BMC, what its logins meet, and what is done of each. */
const STORIES: readonly (readonly [string, readonly LoginFailure[], readonly string[]])[] = [
  ["no room at either suite", [open(1), open(1), open(1)], ["3 A 0", "17 A 5000", "3 A 0"]],
  ["no room at one", [open(0x11), open(1), open(1)], ["3 A 0", "3 A 5000", "3 A 5000"]],
  ["silence at the name alone", unnamed, [...Array(7).fill("17 A 0"), "silent"]],
  ["silence before it", [silent("Open Session"), ...unnamed], Array(9).fill("17 A 0")],
  ["silence behind it", [silent("RAKP 4"), ...unnamed], Array(9).fill("17 A 0")],
  ["another Kg", [kg, kg], ["17 A 0", "wrong-kg"]],
  ["another password", [password, password, password], [...lower, "wrong-password"]],
  // The password was refused at the level that was allowed.
  ["another one, and then the level", [password, password, rakp2(9)], [...lower, "wrong-password"]],
  ["one slip, and the level", [password, rakp2(9), rakp2(9)], [...lower, "privilege-refused"]],
  ["an unknown user", [rakp2(0x0c)], ["wrong-user"]],
  ["a user that may not", [rakp2(0x0d)], ["wrong-user"]],
  ["a level that is refused", [rakp2(9), rakp2(9)], ["17 O! 0", "privilege-refused"]],
  ["a role that is not allowed", [rakp2(0x0a), rakp2(0x0a)], ["17 O! 0", "privilege-refused"]],
  ["a level refused later", [level, level], ["17 O! 0", "privilege-refused"]],
  ["a session that is lost", [rakp2(2), rakp2(8)], ["17 A 1250", "17 A 1250"]],
  ...(["Open Session", "RAKP 4", "session"] as const).map(
    (at) => [`silence at ${at}`, Array(50).fill(silent(at)), Array(50).fill("17 A 0")] as const,
  ),
];

test("another login follows as long as it may help, and what was refused for good ends it", () => {
  for (const [what, outcomes, told] of STORIES) assert.deepEqual(story(outcomes), told, what);
});

test("at the deadline silence refuses nothing", () => {
  for (const history of [{}, { namesUnanswered: 9, silences: 9 }, { full: true, noRoom: 1 }]) {
    const { verdict } = outOfTime({ ...begun(), ...history, last: silent("RAKP 2") });
    assert.ok(["deadline", "silent", "no-slots"].includes(verdict), verdict);
  }
});
