import "../lab/on-servers.ts";
import "./agent-take.test.ts";
