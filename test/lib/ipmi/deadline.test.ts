import assert from "node:assert/strict";
import { test } from "node:test";
import type { BmcVerdict } from "../../../src/lib/ipmi/index.ts";
import { type Asking, ask } from "./sim-ask.ts";
import type { Nature } from "./sim-nature.ts";

/** What is wrong, and what may be said of it when time is short; with time enough the first. */
const FAULTS: readonly (readonly [string, Partial<Nature>, Asking, readonly BmcVerdict[]])[] = [
  ["healthy", {}, {}, ["ok"]],
  ["busy", { busy: { code: 0xc0, times: Infinity } }, {}, ["busy"]],
  ["busy once", { busy: { code: 0xc3, times: 1 } }, {}, ["ok", "busy"]],
  ["full", { openStatus: 1 }, {}, ["no-slots"]],
  ["full for a moment", { openStatus: 1, openTimes: 1 }, {}, ["ok"]],
  ["full once", { openStatus: 1, openTimes: 2 }, {}, ["ok", "no-slots"]],
  ["of suite 3 alone", { suites: [3], listed: [3, 17] }, {}, ["ok"]],
  ["of suite 17, says 01", { suites: [17], listed: [3], suiteStatus: 1 }, {}, ["ok"]],
  ["of no suite", { suites: [1] }, {}, ["cipher-refused"]],
  ["an operator's", { level: 3 }, {}, ["ok"]],
  ["an operator's by command", { level: 3, levelAt: "command" }, {}, ["ok"]],
  ["a user's", { level: 2 }, {}, ["privilege-refused"]],
  ["of Open Session's level", { openLevel: true }, {}, ["ok"]],
  ["of another password", {}, { password: "nope" }, ["wrong-password"]],
  ["of another Kg", { kg: "a" }, {}, ["wrong-kg"]],
  ["of another user", {}, { user: "nobody" }, ["wrong-user"]],
  ["silent to the name", { silentUser: true }, { user: "nobody" }, ["silent"]],
  ["deaf to 2.0's form", { form2: "silent" }, {}, ["ok"]],
  ["deaf to 2.0", { form2: "silent", rmcpplus: false }, {}, ["silent"]],
  ["of 1.5", { ipmi2: false }, {}, ["no-ipmi2"]],
  ["of errors", { form2: 0xff, form15: 0xff }, {}, ["protocol-error"]],
  ["of errors at first", { form2: 0xff, form15: 0xff, formTimes: 3 }, {}, ["ok"]],
  ["of a lost session", { rakp2Status: 2 }, {}, ["protocol-error"]],
  ["dead", { dead: true }, {}, ["unreachable"]],
];

/** What has the first verdict in 4 s. */
const KNOWN_EARLY = ["busy", "full"];

for (const delay of [5, 180])
  for (const [what, nature, asking, verdicts] of FAULTS)
    test(`a BMC that is ${what} has no wrong verdict at any deadline, ${delay} ms away`, async () => {
      const seen = new Set<BmcVerdict>();
      for (let deadline = 60_000; deadline > 10; deadline *= 0.86) {
        const { answer, took } = await ask(nature, { ...asking, deadline, network: { delay } });
        assert.ok(took <= deadline + 1);
        if (nature.openTimes === 1) assert.notEqual(answer.suite, 3, "want of room is no choice");
        seen.add(answer.verdict);
        const late = answer.verdict === "deadline" || answer.verdict === "unreachable";
        assert.ok(late || verdicts.includes(answer.verdict), `${deadline}: ${answer.detail}`);
        const heard =
          deadline > 2 * delay + 20 && nature.dead !== true && nature.form2 !== "silent";
        if (heard) assert.notEqual(answer.verdict, "unreachable", `${deadline}: ${answer.detail}`);
        if (deadline === 60_000 || (KNOWN_EARLY.includes(what) && deadline > 4000))
          assert.equal(answer.verdict, verdicts[0]);
      }
      assert.ok(verdicts[0] !== undefined && seen.has(verdicts[0]));
    });
