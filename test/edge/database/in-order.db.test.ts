import { repeatOnBoth } from "../../lab/engines.ts";

await repeatOnBoth(() => import("./in-order.test.ts"));
