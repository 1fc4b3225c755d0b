import { repeatOnBoth } from "../../lab/engines.ts";

await repeatOnBoth(() => import("./shared.test.ts"));
