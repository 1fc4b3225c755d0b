import "../../lab/on-servers.ts";
import "./pooler.test.ts";
