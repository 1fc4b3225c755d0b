import "../../lab/on-servers.ts";
import "./leak.test.ts";
