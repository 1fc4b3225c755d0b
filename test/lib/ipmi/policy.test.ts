import assert from "node:assert/strict";
import { test } from "node:test";
import { type Suite, suiteOf } from "../../../src/lib/ipmi/crypto.ts";
import {
  type Attempt,
  decide,
  type LoginFailure,
  NOTHING_YET,
  outOfTime,
} from "../../../src/lib/ipmi/policy.ts";

const SUITES = [17, 3].flatMap((id): readonly Suite[] => {
  const suite = suiteOf(id);
  return suite === null ? [] : [suite];
});

/** Decides on each outcome in turn; what was done, and the last verdict. */
function story(outcomes: readonly LoginFailure[]): readonly string[] {
  const told: string[] = [];
  let [attempt, tried]: [Attempt | null, typeof NOTHING_YET] = [null, NOTHING_YET];
  for (const outcome of outcomes) {
    const [first] = SUITES;
    assert.ok(first !== undefined);
    attempt ??= { suite: first, level: "ADMINISTRATOR", namesLevel: false };
    const next = decide(outcome, attempt, tried, SUITES, 0.5);
    if (next.do === "end") return [...told, next.diagnosis.verdict];
    ({ attempt, tried } = next);
    const { suite, level, namesLevel } = attempt;
    told.push(`${suite.id} ${level[0]}${namesLevel ? "!" : ""} ${next.pause}`);
  }
  return told;
}

const open = (status: number): LoginFailure => ({ kind: "status", stage: "Open Session", status });
const rakp2 = (status: number): LoginFailure => ({ kind: "status", stage: "RAKP 2", status });
const silent = (stage: "Open Session" | "RAKP 2" | "RAKP 4" | "session"): LoginFailure => ({
  kind: "silent",
  stage,
});

test("no room at one suite asks for the other, at both waits five seconds", () => {
  assert.deepEqual(story([open(1), open(1), open(1)]), ["3 A 0", "17 A 5000", "3 A 0"]);
  assert.deepEqual(story([open(0x11), open(1), open(1)]), ["3 A 0", "3 A 5000", "3 A 5000"]);
});

test("silence is met by another login for as long as there is time, and refuses nothing", () => {
  for (const stage of ["Open Session", "RAKP 4", "session"] as const)
    assert.deepEqual(story(Array(50).fill(silent(stage))), Array(50).fill("17 A 0"));
  for (const history of [{}, { namesUnanswered: 9, silences: 9 }, { full: true, noRoom: 1 }]) {
    const { verdict } = outOfTime(silent("RAKP 2"), { ...NOTHING_YET, ...history });
    assert.ok(["deadline", "silent", "no-slots"].includes(verdict), verdict);
  }
});

test("silence at the name alone ends early, and says that the name may be unknown", () => {
  const silences = Array.from({ length: 8 }, () => silent("RAKP 2"));
  assert.equal(story(silences).at(-1), "silent");
  assert.equal(story(silences).length, 8);
  assert.equal(story([silent("Open Session"), ...silences]).at(-1), "17 A 0");
  assert.equal(story([silent("RAKP 4"), ...silences]).at(-1), "17 A 0");
});

test("what was refused for good is never tried again, a code that does not fit once", () => {
  const kg: LoginFailure = { kind: "mismatch", of: "kg" };
  const password: LoginFailure = { kind: "mismatch", of: "password" };
  assert.deepEqual(story([kg, kg]), ["17 A 0", "wrong-kg"]);
  const twice = [password, password];
  assert.deepEqual(story([...twice, password]), ["17 A 0", "17 O! 0", "wrong-password"]);
  // The password was refused at the level that was allowed.
  assert.deepEqual(story([...twice, rakp2(9)]), ["17 A 0", "17 O! 0", "wrong-password"]);
  assert.deepEqual(story([password, rakp2(9), rakp2(9)]), [
    ...["17 A 0", "17 O! 0", "privilege-refused"],
  ]);
  for (const status of [0x0c, 0x0d]) assert.deepEqual(story([rakp2(status)]), ["wrong-user"]);
  assert.deepEqual(story([{ kind: "status", stage: "RAKP 4", status: 0x0f }]), ["wrong-password"]);
});

test("a level that is refused is asked one lower, once", () => {
  for (const refusal of [rakp2(9), rakp2(0x0a), { kind: "level", code: 0x81 } as const])
    assert.deepEqual(story([refusal, refusal]), ["17 O! 0", "privilege-refused"]);
});

test("a lost session is begun anew after half a second to two", () => {
  assert.deepEqual(story([rakp2(2), rakp2(8)]), ["17 A 1250", "17 A 1250"]);
});
