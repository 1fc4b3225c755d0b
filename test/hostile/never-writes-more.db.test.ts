import "../lab/on-servers.ts";
import "./never-writes-more.test.ts";
