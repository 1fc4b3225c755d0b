import "../lab/on-servers.ts";
import "./interrupt.test.ts";
