import "../../lab/on-servers.ts";
import "./check.test.ts";
