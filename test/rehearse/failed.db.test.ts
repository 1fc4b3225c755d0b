import "../lab/on-servers.ts";
import "./failed.test.ts";
