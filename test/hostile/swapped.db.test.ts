import "../lab/on-servers.ts";
import "./swapped.test.ts";
