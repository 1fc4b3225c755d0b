import "../lab/on-servers.ts";
import "./shapes.test.ts";
