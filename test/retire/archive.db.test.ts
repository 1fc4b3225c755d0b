import "../lab/on-servers.ts";
import "./archive.test.ts";
