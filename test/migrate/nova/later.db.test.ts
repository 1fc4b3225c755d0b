import "../../lab/on-servers.ts";
import "./later.test.ts";
