import "../lab/on-servers.ts";
import "./move.test.ts";
