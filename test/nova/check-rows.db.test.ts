import "../lab/on-servers.ts";
import "./check-rows.test.ts";
