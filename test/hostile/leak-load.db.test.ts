import "../lab/on-servers.ts";
import "./leak-load.test.ts";
