// Parts of the formats of cgroup files. Pure.

import type { MemoryCounters } from './types.ts';

/** Returns the numbers of a file with lines 'KEY VALUE'. */
export function keyedNumbers(text: string | undefined): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>();
  for (const line of (text ?? '').split('\n')) {
    const [key, value] = line.split(' ', 2);
    const number = numberOf(value);
    if (key !== undefined && key !== '' && number !== undefined) numbers.set(key, number);
  }
  return numbers;
}

/** Returns the number in a file; Infinity for 'max', undefined if there is none. */
export function numberOf(text: string | undefined): number | undefined {
  const trimmed = text?.trim() ?? '';
  if (trimmed === 'max') return Number.POSITIVE_INFINITY;
  return /^\d+$/.test(trimmed) ? Number(trimmed) : undefined;
}

/** Returns the same object without undefined values. */
export function defined<T extends object>(values: {
  readonly [K in keyof T]: T[K] | undefined;
}): T {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as unknown as T;
}

/** Returns the numbers of a text with one in each line. */
export function numberPerLine(text: string | undefined): readonly number[] | undefined {
  return text
    ?.split('\n')
    .filter((line) => line !== '')
    .map(Number);
}

/** Returns memory that is used, without file cache that was not used lately. */
export function workingSet({
  usage,
  inactiveFile = 0,
}: Pick<MemoryCounters, 'usage' | 'inactiveFile'>): number | undefined {
  return usage === undefined ? undefined : Math.max(0, usage - inactiveFile);
}

export function scaled(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : value * factor;
}
