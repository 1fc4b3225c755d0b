import "../../lab/on-servers.ts";
import "./changed.test.ts";
