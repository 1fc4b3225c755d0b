import "../lab/on-servers.ts";
import "./left.test.ts";
