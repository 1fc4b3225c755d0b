import assert from "node:assert/strict";
import { test } from "node:test";
import type { BmcVerdict } from "../../../src/lib/ipmi/index.ts";
import type { BmcOptions } from "../../support/bmc/options.ts";
import { type Asking, ask, busy, hex, limited } from "./sim.ts";

/** What is wrong, and what may be said of it when time is short; with time enough the first. */
const FAULTS: readonly (readonly [string, Partial<BmcOptions>, Asking, readonly BmcVerdict[]])[] = [
  ["healthy", {}, {}, ["ok"]],
  ["busy", busy(0xc0, Infinity), {}, ["busy"]],
  ["busy once", busy(0xc3, 1), {}, ["ok", "busy"]],
  ["full", { openStatus: { "*": 1 } }, {}, ["no-slots"]],
  ["full for a moment", { openStatus: { "*": 1 }, openTimes: 1 }, {}, ["ok"]],
  ["full once", { openStatus: { "*": 1 }, openTimes: 2 }, {}, ["ok", "no-slots"]],
  ["of suite 3 alone", { suites: [3], listed: [3, 17] }, {}, ["ok"]],
  ["of suite 17, says 01", { suites: [17], listed: [3], suiteStatus: 1 }, {}, ["ok"]],
  ["of no suite", { suites: [1] }, {}, ["cipher-refused"]],
  ["an operator's", limited(3), {}, ["ok"]],
  ["an operator's by command", limited(3, null), {}, ["ok"]],
  ["a user's", limited(2), {}, ["privilege-refused"]],
  ["of Open Session's level", { openPrivilege: true }, {}, ["ok"]],
  ["of another password", {}, { password: "nope" }, ["wrong-password"]],
  ["of another Kg", { kg: hex("a") }, {}, ["wrong-kg"]],
  ["of another user", {}, { user: "nobody" }, ["wrong-user"]],
  ["silent to the name", { unknownUser: "silent" }, { user: "nobody" }, ["silent"]],
  ["deaf to 2.0's form", { form2: "silent" }, {}, ["ok"]],
  ["deaf to 2.0", { form2: "silent", rmcpplus: false }, {}, ["silent"]],
  ["of 1.5", { version2: false }, {}, ["no-ipmi2"]],
  ["of errors", { form2: 0xff, form15: 0xff }, {}, ["protocol-error"]],
  ["of errors at first", { form2: 0xff, form15: 0xff, formTimes: 3 }, {}, ["ok"]],
  ["of a lost session", { rakp2Status: 2 }, {}, ["protocol-error"]],
  ["dead", { dead: true }, {}, ["unreachable"]],
];

/** What has the first verdict in 4 s. */
const KNOWN_EARLY = ["busy", "full"];

for (const delay of [5, 180])
  for (const [what, fault, asking, verdicts] of FAULTS)
    test(`a BMC that is ${what} has no wrong verdict at any deadline, ${delay} ms away`, async () => {
      const seen = new Set<BmcVerdict>();
      for (let deadline = 60_000; deadline > 10; deadline *= 0.86) {
        const { answer, took } = await ask(fault, { ...asking, deadline, network: { delay } });
        assert.ok(took <= deadline + 1);
        if (fault.openTimes === 1) assert.notEqual(answer.suite, 3, "want of room is no choice");
        seen.add(answer.verdict);
        const late = answer.verdict === "deadline" || answer.verdict === "unreachable";
        assert.ok(late || verdicts.includes(answer.verdict), `${deadline}: ${answer.detail}`);
        const heard = deadline > 2 * delay + 20 && !fault.dead && fault.form2 !== "silent";
        if (heard) assert.notEqual(answer.verdict, "unreachable", `${deadline}: ${answer.detail}`);
        if (deadline === 60_000 || (KNOWN_EARLY.includes(what) && deadline > 4000))
          assert.equal(answer.verdict, verdicts[0]);
      }
      assert.ok(verdicts[0] !== undefined && seen.has(verdicts[0]));
    });
