// Prints the results of benchmarks: one line per figure, with the median of its runs, their range,
// the goal, how far the goal is met, and the same figure of another program.

export interface Figure {
  readonly what: string;
  readonly unit: string;
  /** One value per run. */
  readonly values: readonly number[];
  /** The limit of the figure: at least, or at most, this value. */
  readonly goal?: { readonly atLeast: number } | { readonly atMost: number };
  /** The same figure of another program, from the same run unless the name says otherwise. */
  readonly comparedWith?: { readonly name: string; readonly value: number };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

/** Returns the p-quantile of the values. There must be at least one. */
export function quantile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN;
}

export function heading(text: string): void {
  console.log(`\n${text}`);
}

export function note(text: string): void {
  console.log(`  ${text}`);
}

export function show(figure: Figure): void {
  const { what, unit, values, goal, comparedWith } = figure;
  const middle = median(values);
  const range =
    values.length > 1 ? `${number(Math.min(...values))} – ${number(Math.max(...values))}` : '';
  const goalText =
    goal === undefined
      ? ''
      : 'atLeast' in goal
        ? `goal ≥ ${number(goal.atLeast)}`
        : `goal ≤ ${number(goal.atMost)}`;
  const met =
    goal === undefined
      ? ''
      : 'atLeast' in goal
        ? verdict(middle / goal.atLeast)
        : verdict(goal.atMost / middle);
  const other =
    comparedWith === undefined
      ? ''
      : `${(middle / comparedWith.value).toFixed(2)} × ${comparedWith.name} (${number(comparedWith.value)})`;
  console.log(
    (
      `  ${what.padEnd(44)}${number(middle).padStart(9)} ${unit.padEnd(8)} ${range.padEnd(17)} ` +
      `${`${goalText} ${met}`.padEnd(30)} ${other}`
    ).trimEnd(),
  );
}

/** Returns whether the goal is met, and the ratio of figure and goal. */
function verdict(ratio: number): string {
  return `${ratio >= 1 ? 'met' : 'MISSED'} (${ratio.toFixed(2)})`;
}

function number(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en', {
    maximumFractionDigits: digits,
    minimumFractionDigits: digits,
  });
}
