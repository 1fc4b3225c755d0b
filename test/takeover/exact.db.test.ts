import "../lab/on-servers.ts";
import "./exact.test.ts";
