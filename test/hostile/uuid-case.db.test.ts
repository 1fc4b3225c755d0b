import "../lab/on-servers.ts";
import "./uuid-case.test.ts";
