import "../../lab/on-servers.ts";
import "./agent.test.ts";
