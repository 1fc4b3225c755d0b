import { repeatOnBoth } from "../lab/engines.ts";

await repeatOnBoth(() => import("./data.test.ts"));
