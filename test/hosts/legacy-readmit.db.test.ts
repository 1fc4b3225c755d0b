import "../lab/on-servers.ts";
import "./legacy-readmit.test.ts";
