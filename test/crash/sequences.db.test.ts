import "../lab/on-servers.ts";
import "./sequences.test.ts";
