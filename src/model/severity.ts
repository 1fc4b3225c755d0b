/** `blocks`: the machine is not loaded. `warning`: loaded, look at it. `note`: for the record. */
export type Severity = "blocks" | "warning" | "note";
