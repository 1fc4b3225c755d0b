import "../../lab/on-servers.ts";
import "./indexes.test.ts";
