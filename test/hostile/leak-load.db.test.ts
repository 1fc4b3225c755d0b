import { repeatOnBoth } from "../lab/engines.ts";

await repeatOnBoth(() => import("./leak-load.test.ts"));
