import { repeatOnServers } from "./engines.ts";

repeatOnServers();
