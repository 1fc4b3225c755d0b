import "../../lab/on-servers.ts";
import "./reader.test.ts";
