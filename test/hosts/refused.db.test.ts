import "../lab/on-servers.ts";
import "./refused.test.ts";
