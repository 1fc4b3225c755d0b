import "../lab/on-servers.ts";
import "./addresses.test.ts";
