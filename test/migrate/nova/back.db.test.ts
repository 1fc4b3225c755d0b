import "../../lab/on-servers.ts";
import "./back.test.ts";
