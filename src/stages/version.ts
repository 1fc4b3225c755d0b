import { version } from "../edge/disk/package-root.ts";

/** `nova2ironic 0.1.0`, for artefacts. */
export const VERSION: string = version();
