import { repeatOnBoth } from "../../lab/engines.ts";

await repeatOnBoth(() => import("./perform.test.ts"));
