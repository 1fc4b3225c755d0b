import { test } from "node:test";
import { asked } from "./secrets-case.ts";

// A virtual machine of the case is asked by ssh.
for (const client of ["native", "ipmitool"] as const)
  test(`asking BMCs with the ${client} client shows and keeps no secret`, (t) => asked(t, client));
