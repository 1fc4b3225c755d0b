import { test } from "node:test";
import { asked } from "./secrets-case.ts";

// A virtual machine of the case is asked by ssh.
test("asking BMCs shows and keeps no secret", asked);
