import { repeatOnBoth } from "../../lab/engines.ts";

await repeatOnBoth(() => import("./deleted.test.ts"));
