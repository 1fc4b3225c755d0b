import "../../lab/on-servers.ts";
import "./legacy.test.ts";
