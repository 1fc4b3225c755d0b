import "./lab/on-servers.ts";
import "./finished.test.ts";
