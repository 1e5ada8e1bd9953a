// Differences as lines of text: `.spec.replicas: 1 → 2`.

import { stringifyJson } from '../text/json-integers.ts';
import { isPlainObject } from '../deep.ts';
import { differences } from './differences.ts';

/** The maximum length of a value in characters. Longer values are cut. */
const MAX_VALUE = 120;
/** The fields that name the items of a list, in order of preference. */
const NAMES = ['name', 'type', 'uid', 'key', 'ip'] as const;

/**
 * Returns a line for each difference. Items with names are compared by name:
 * `.status.conditions[Ready].status`. The line of an added field has no left side, and the line of
 * a removed field has no right side.
 */
export function formatDifferences(before: unknown, after: unknown): readonly string[] {
  return differences(named(before), named(after)).map(({ path, from, to }) => {
    const at = path.map(step).join('') || '.';
    if (from === undefined) return `${at}: + ${valueText(to)}`;
    if (to === undefined) return `${at}: - ${valueText(from)}`;
    return `${at}: ${valueText(from)} → ${valueText(to)}`;
  });
}

function step(key: string | number): string {
  if (typeof key === 'number' || key.startsWith('['))
    return `${key}`.startsWith('[') ? `${key}` : `[${key}]`;
  return /^[A-Za-z_$][\w$-]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function valueText(value: unknown): string {
  const text = stringifyJson(unnamed(value)) ?? 'null';
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
}

/** Returns the value with each list of named items as an object with the keys '[name]'. */
function named(value: unknown): unknown {
  if (Array.isArray(value)) {
    const key = nameField(value);
    if (key === undefined) return value.map(named);
    return Object.fromEntries(
      value.map((item: Record<string, unknown>) => [`[${String(item[key])}]`, named(item)]),
    );
  }
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, named(item)]));
}

/** Reverses `named`. */
function unnamed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unnamed);
  if (!isPlainObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, unnamed(item)] as const);
  const isList = entries.length > 0 && entries.every(([key]) => /^\[[^]*\]$/.test(key));
  return isList ? entries.map(([, item]) => item) : Object.fromEntries(entries);
}

function nameField(items: readonly unknown[]): string | undefined {
  if (items.length === 0 || !items.every(isPlainObject)) return undefined;
  return NAMES.find((field) => {
    const values = items.map((item) => item[field]);
    return (
      values.every((value) => typeof value === 'string') && new Set(values).size === items.length
    );
  });
}
