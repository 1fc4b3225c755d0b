import { repeatOnBoth } from "../../lab/engines.ts";

await repeatOnBoth(() => import("./by-text.test.ts"));
