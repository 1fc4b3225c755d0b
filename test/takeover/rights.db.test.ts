import "../lab/on-servers.ts";
import "./rights.test.ts";
