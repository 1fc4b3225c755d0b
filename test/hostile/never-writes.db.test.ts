import "../lab/on-servers.ts";
import "./never-writes.test.ts";
