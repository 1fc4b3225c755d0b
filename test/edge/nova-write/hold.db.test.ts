import { repeatOnBoth } from "../../lab/engines.ts";

await repeatOnBoth(() => import("./hold.test.ts"));
