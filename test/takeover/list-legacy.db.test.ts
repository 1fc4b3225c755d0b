import "../lab/on-servers.ts";
import "./list-legacy.test.ts";
