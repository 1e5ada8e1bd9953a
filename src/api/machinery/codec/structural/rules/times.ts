// Measures how long rules take to compile and to evaluate, for each node of a schema, as upstream does.

export interface RuleTimes {
  /** Returns a time, in milliseconds of any clock that does not go back. */
  now(): number;
  /** Called when the rules of a node have been compiled. `since`: the time before. */
  compiled(since: number): void;
  /** Called when the rules at a value, and those below it, have been evaluated. */
  evaluated(since: number): void;
}

export const NO_TIMES: RuleTimes = {
  now: () => 0,
  compiled: () => undefined,
  evaluated: () => undefined,
};
