import "../lab/on-servers.ts";
import "./options.test.ts";
