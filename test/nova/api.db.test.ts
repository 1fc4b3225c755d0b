import "../lab/on-servers.ts";
import "./api.test.ts";
