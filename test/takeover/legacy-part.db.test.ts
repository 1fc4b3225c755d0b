import "../lab/on-servers.ts";
import "./legacy-part.test.ts";
