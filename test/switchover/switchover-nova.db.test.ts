import "../lab/on-servers.ts";
import "./switchover-nova.test.ts";
