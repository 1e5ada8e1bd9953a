// Durations in the text form of Go's time.Duration ('300ms', '1h30m', '-1.5s'), which
// metav1.Duration, flags and configuration files use. In memory a duration is a number of
// milliseconds (a `…Ms` name).

const NANOSECONDS_PER: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

const SECOND = 1_000_000_000n;
const MAX_INT64 = (1n << 63n) - 1n;

/** The text is not a duration. The message is Go's. */
export class DurationError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DurationError';
  }
}

/**
 * Parses a Go duration exactly, in nanoseconds (at most 2^63-1 either way). Throws DurationError.
 */
export function parseDurationNanoseconds(text: string): bigint {
  let rest = text;
  let negative = false;
  if (rest.startsWith('-') || rest.startsWith('+')) {
    negative = rest.startsWith('-');
    rest = rest.slice(1);
  }
  if (rest === '0') return 0n;
  if (rest === '') throw new DurationError(`time: invalid duration ${JSON.stringify(text)}`);
  let total = 0n;
  while (rest !== '') {
    const number = /^(\d*)(?:\.(\d*))?/.exec(rest);
    const whole = number?.[1] ?? '';
    const fraction = number?.[2] ?? '';
    if (whole === '' && fraction === '')
      throw new DurationError(`time: invalid duration ${JSON.stringify(text)}`);
    rest = rest.slice(number?.[0].length ?? 0);
    const unit = /^[^.\d]*/.exec(rest)?.[0] ?? '';
    if (unit === '')
      throw new DurationError(`time: missing unit in duration ${JSON.stringify(text)}`);
    const scale = Object.hasOwn(NANOSECONDS_PER, unit) ? NANOSECONDS_PER[unit] : undefined;
    if (scale === undefined) {
      throw new DurationError(
        `time: unknown unit ${JSON.stringify(unit)} in duration ${JSON.stringify(text)}`,
      );
    }
    rest = rest.slice(unit.length);
    // No unit needs more than 18 digits after the point; the rest is cut off.
    const digits = fraction.slice(0, 18);
    total += BigInt(whole || '0') * scale;
    if (digits !== '') total += (BigInt(digits) * scale) / 10n ** BigInt(digits.length);
    if (total > MAX_INT64 + (negative ? 1n : 0n))
      throw new DurationError(`time: invalid duration ${JSON.stringify(text)}`);
  }
  return negative ? -total : total;
}

/**
 * Parses a Go duration. Returns milliseconds, with a fraction where the text has one. Throws
 * DurationError.
 */
export function parseDuration(text: string): number {
  const nanoseconds = parseDurationNanoseconds(text);
  // Whole milliseconds and the rest are converted separately, so that whole milliseconds stay
  // exact.
  return Number(nanoseconds / 1_000_000n) + Number(nanoseconds % 1_000_000n) / 1e6;
}

/**
 * Returns milliseconds from a number (already milliseconds) or a Go duration. Throws DurationError.
 */
export function toMilliseconds(duration: number | string): number {
  return typeof duration === 'number' ? duration : parseDuration(duration);
}

/** Formats nanoseconds as Go does: '1h30m0s', '1.5s', '2ms', '0s'. */
export function formatDurationNanoseconds(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return '0s';
  const sign = nanoseconds < 0n ? '-' : '';
  const size = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  if (size < 1_000n) return `${sign}${size}ns`;
  if (size < 1_000_000n) return `${sign}${decimal(size, 3)}µs`;
  if (size < SECOND) return `${sign}${decimal(size, 6)}ms`;
  const seconds = size / SECOND;
  let text = `${decimal(size - (seconds / 60n) * 60n * SECOND, 9)}s`;
  if (seconds >= 60n) text = `${(seconds / 60n) % 60n}m${text}`;
  if (seconds >= 3600n) text = `${seconds / 3600n}h${text}`;
  return sign + text;
}

/** Formats milliseconds as Go formats the same duration. */
export function formatDuration(milliseconds: number): string {
  const whole = Math.trunc(milliseconds);
  return formatDurationNanoseconds(
    BigInt(whole) * 1_000_000n + BigInt(Math.round((milliseconds - whole) * 1e6)),
  );
}

/** Returns `units` / 10^places, without trailing zeros. */
function decimal(units: bigint, places: number): string {
  const scale = 10n ** BigInt(places);
  const fraction = (units % scale).toString().padStart(places, '0').replace(/0+$/, '');
  return fraction === '' ? `${units / scale}` : `${units / scale}.${fraction}`;
}

/**
 * Returns the short form of kubectl's AGE column (duration.HumanDuration of apimachinery): '45s',
 * '3m20s', '10m', '4h5m', '12h', '2d3h', '40d', '3y12d'. Fractions of a second are cut off.
 */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1000);
  // Up to a second below zero is the clock skew of another machine.
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 60 * 2) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return two(minutes, 'm', seconds % 60, 's');
  if (minutes < 60 * 3) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  if (hours < 24 * 8) return two(Math.trunc(hours / 24), 'd', hours % 24, 'h');
  if (hours < 24 * 365 * 2) return `${Math.trunc(hours / 24)}d`;
  if (hours < 24 * 365 * 8)
    return two(Math.trunc(hours / 24 / 365), 'y', Math.trunc(hours / 24) % 365, 'd');
  return `${Math.trunc(hours / 24 / 365)}y`;
}

function two(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}
