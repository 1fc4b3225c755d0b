import "../lab/on-servers.ts";
import "./data.test.ts";
