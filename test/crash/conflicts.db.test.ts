import "../lab/on-servers.ts";
import "./conflicts.test.ts";
