// The concurrency limits of priority levels. Pure.
//
// A seat is the right to execute one request. The server's seats are divided among the levels by
// their shares, which gives each level its nominal limit. A level lends seats that it does not
// need, down to its minimum, and borrows seats of others, up to its maximum.

export interface LevelShares {
  readonly shares: number;
  /** The part of the nominal limit that others may borrow, in percent. */
  readonly lendablePercent: number;
  /** The most that the level may borrow, in percent of its nominal limit. Absent: no limit. */
  readonly borrowingLimitPercent?: number;
}

export interface LevelLimits {
  readonly nominal: number;
  readonly min: number;
  readonly max: number;
}

/** Returns the limits of one level. `total`: the shares of all levels; `seats`: the server's. */
export function limitsOf(
  { shares, lendablePercent, borrowingLimitPercent }: LevelShares,
  total: number,
  seats: number,
): LevelLimits {
  if (!Number.isFinite(seats)) return { nominal: seats, min: seats, max: seats };
  const nominal = total === 0 ? 0 : Math.ceil((seats * shares) / total);
  const lendable = Math.round((nominal * lendablePercent) / 100);
  const borrowable =
    borrowingLimitPercent === undefined
      ? seats
      : Math.round((nominal * borrowingLimitPercent) / 100);
  return { nominal, min: nominal - lendable, max: nominal + borrowable };
}

export interface Claim {
  /** The level gets at least this many seats. */
  readonly lower: number;
  /** The level gets at most this many seats, at least `lower`. */
  readonly upper: number;
  /** The seats that the level could use. */
  readonly target: number;
}

export interface Allocation {
  /** Each claim gets this multiple of its target, within its bounds. */
  readonly fraction: number;
  readonly seats: readonly number[];
}

/** Halvings of the interval of fractions, which suffice for the precision of a number. */
const STEPS = 60;

/**
 * Divides seats in proportion to the targets, within the bounds. If the bounds do not permit the
 * sum, every claim gets its lower or upper bound.
 */
export function allocate(claims: readonly Claim[], seats: number): Allocation {
  const at = (fraction: number): number[] =>
    claims.map(({ lower, upper, target }) =>
      Math.min(upper, Math.max(lower, fraction * Math.max(target, 1))),
    );
  const sumAt = (fraction: number): number => at(fraction).reduce((sum, value) => sum + value, 0);
  let low = 0;
  let high = Math.max(1, ...claims.map(({ upper, target }) => upper / Math.max(target, 1)));
  for (let step = 0; step < STEPS; step++) {
    const middle = (low + high) / 2;
    if (sumAt(middle) <= seats) low = middle;
    else high = middle;
  }
  return { fraction: low, seats: at(low) };
}

export interface LevelDemand extends LevelLimits {
  readonly isExempt: boolean;
  /** The most seats that the level could have used at a time, since the last division. */
  readonly peak: number;
  /** The seats that the level could use on average, smoothed over several divisions. */
  readonly smoothed: number;
}

export interface Division {
  readonly fraction: number;
  /** The seats that each level could use. */
  readonly targets: readonly number[];
  /** The current limit of each level. That of an exempt level is only a reservation. */
  readonly current: readonly number[];
}

/**
 * Divides the seats anew, by demand. A level keeps its nominal limit as far as it has needed it;
 * what is left goes to those that could use more.
 */
export function divide(levels: readonly LevelDemand[]): Division {
  const total = levels.reduce((sum, { nominal }) => sum + nominal, 0);
  const needed = levels.map(({ isExempt, min, nominal, peak }) =>
    Math.max(min, isExempt ? peak : Math.min(nominal, peak)),
  );
  const limited = levels.flatMap(({ isExempt }, index) => (isExempt ? [] : [index]));
  const sum = (value: (index: number) => number): number =>
    limited.reduce((all, index) => all + value(index), 0);
  const reserved = needed.reduce((all, value) => all + value, 0) - sum((index) => needed[index]!);
  const available = total - reserved;
  const targets = levels.map(({ smoothed }, index) => Math.max(needed[index]!, smoothed));
  // If exempt requests leave too little, the levels keep less than what they need.
  const isScarce = sum((index) => needed[index]!) > available;
  const { fraction, seats } = allocate(
    limited.map((index) => ({
      lower: isScarce ? levels[index]!.min : needed[index]!,
      upper: Math.max(levels[index]!.max, needed[index]!),
      target: targets[index]!,
    })),
    available,
  );
  const current = [...needed];
  for (const [at, index] of limited.entries()) current[index] = Math.max(1, Math.round(seats[at]!));
  return { fraction, targets, current };
}
