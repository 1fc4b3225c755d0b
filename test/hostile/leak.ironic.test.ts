import { test } from "node:test";
import { asked } from "./secrets-case.ts";

test("asking BMCs through ipmitool shows and keeps no secret", (t) => asked(t, "ipmitool"));
