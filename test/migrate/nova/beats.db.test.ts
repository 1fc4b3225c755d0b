import "../../lab/on-servers.ts";
import "./beats.test.ts";
