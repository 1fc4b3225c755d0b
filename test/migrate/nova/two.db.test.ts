import "../../lab/on-servers.ts";
import "./two.test.ts";
