import { repeatOnBoth } from "../../lab/engines.ts";

await repeatOnBoth(() => import("./reader.test.ts"));
