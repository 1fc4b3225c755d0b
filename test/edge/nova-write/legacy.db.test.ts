import { repeatOnBoth } from "../../lab/engines.ts";

await repeatOnBoth(() => import("./legacy.test.ts"));
