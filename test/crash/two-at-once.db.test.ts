import "../lab/on-servers.ts";
import "./two-at-once.test.ts";
