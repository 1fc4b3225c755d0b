import "../lab/on-servers.ts";
import "./leak-target.test.ts";
