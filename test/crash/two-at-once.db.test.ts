import { repeatOnBoth } from "../lab/engines.ts";

await repeatOnBoth(() => import("./two-at-once.test.ts"));
