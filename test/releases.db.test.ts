import "./lab/on-servers.ts";
import "./releases.test.ts";
