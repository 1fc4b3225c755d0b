import "../lab/on-servers.ts";
import "./deleted-service.test.ts";
