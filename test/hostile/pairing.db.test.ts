import "../lab/on-servers.ts";
import "./pairing.test.ts";
