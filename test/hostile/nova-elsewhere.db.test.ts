import "../lab/on-servers.ts";
import "./nova-elsewhere.test.ts";
