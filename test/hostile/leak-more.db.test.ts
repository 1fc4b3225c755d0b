import "../lab/on-servers.ts";
import "./leak-more.test.ts";
