import "../../lab/on-servers.ts";
import "./times.test.ts";
