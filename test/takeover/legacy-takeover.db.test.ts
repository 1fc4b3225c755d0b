import "../lab/on-servers.ts";
import "./legacy-takeover.test.ts";
