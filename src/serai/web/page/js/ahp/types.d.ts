// The part of AHP 0.2 that the page reads and writes, as it is on the wire. `serai.ahp` has the whole of it.
// Optional fields are absent, never null; unions may have variants that are newer than the page.

export type * from "./actions.d.ts";
export type * from "./commands.d.ts";
export type * from "./states.d.ts";
