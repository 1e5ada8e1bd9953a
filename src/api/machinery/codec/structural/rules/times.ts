// Measures the time to compile and to evaluate rules, for each schema node, as upstream does.

export interface RuleTimes {
  /** Returns the time in milliseconds of a clock that never goes back. */
  now(): number;
  /** Called when the rules of a node have been compiled. `since`: the time before. */
  compiled(since: number): void;
  /**
   * Called when the rules at a value, and those below it, have been evaluated. `since`: the time
   * before.
   */
  evaluated(since: number): void;
}

export const NO_TIMES: RuleTimes = {
  now: () => 0,
  compiled: () => undefined,
  evaluated: () => undefined,
};
