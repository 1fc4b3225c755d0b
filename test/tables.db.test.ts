import "./lab/on-servers.ts";
import "./tables.test.ts";
