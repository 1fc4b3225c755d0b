import "../lab/on-servers.ts";
import "./legacy-without-lease.test.ts";
