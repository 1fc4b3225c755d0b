import "../lab/on-servers.ts";
import "./takeover.test.ts";
