import "../../lab/on-servers.ts";
import "./guests.test.ts";
