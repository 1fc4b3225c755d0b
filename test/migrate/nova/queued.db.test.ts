import "../../lab/on-servers.ts";
import "./queued.test.ts";
