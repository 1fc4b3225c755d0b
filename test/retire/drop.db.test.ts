import "../lab/on-servers.ts";
import "./drop.test.ts";
