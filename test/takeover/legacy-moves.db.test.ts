import "../lab/on-servers.ts";
import "./legacy-moves.test.ts";
