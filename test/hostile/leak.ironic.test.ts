import { test } from "node:test";
import { asked } from "./secrets-case.ts";

// A virtual machine of the case is asked by ssh.
test("asking BMCs shows and keeps no secret", (t) => {
  // Nothing listens there. BMCs of one address are asked one after another.
  const addresses = [1, 2, 4, 5, 6].map((at) => `127.0.9.${at}`);
  return asked(t, addresses);
});
