import "../lab/on-servers.ts";
import "./race.test.ts";
