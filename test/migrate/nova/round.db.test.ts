import "../../lab/on-servers.ts";
import "./round.test.ts";
