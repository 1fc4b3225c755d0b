import { repeatOnBoth } from "../lab/engines.ts";

await repeatOnBoth(() => import("./sequences.test.ts"));
