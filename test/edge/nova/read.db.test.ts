import { repeatOnBoth } from "../../lab/engines.ts";

await repeatOnBoth(() => import("./read.test.ts"));
