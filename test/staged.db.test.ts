import "./lab/on-servers.ts";
import "./staged.test.ts";
