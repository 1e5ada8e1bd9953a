// Values that are a number or a text: ports by number or name, amounts by count or percentage
// (maxUnavailable: '25%').

import { quote } from './go-format.ts';

export type IntOrString = number | string;

/** Reports whether the value is an int32, not a text. */
export function isInt(value: IntOrString): value is number {
  return typeof value === 'number';
}

/** Returns the number, or the number that the text contains; 0 if it contains none. */
export function intValue(value: IntOrString): number {
  if (typeof value === 'number') return value;
  return /^[+-]?\d+$/.test(value) ? Number(value) : 0;
}

/**
 * Returns the value as a part of `total`: a number is returned unchanged, a percentage is that
 * share, rounded up or down. Throws an Error with upstream's message for undefined and for texts
 * that are not a percentage.
 */
export function getScaledValueFromIntOrPercent(
  value: IntOrString | undefined,
  total: number,
  roundUp: boolean,
): number {
  if (value === undefined) throw new Error('nil value for IntOrString');
  if (typeof value === 'number') return value;
  const percent = percentOf(value);
  const scaled = (percent * total) / 100;
  return roundUp ? Math.ceil(scaled) : Math.floor(scaled);
}

function percentOf(text: string): number {
  if (!text.endsWith('%'))
    throw new Error('invalid value for IntOrString: invalid type: string is not a percentage');
  const digits = text.slice(0, -1);
  if (!/^[+-]?\d+$/.test(digits)) {
    const why = `strconv.Atoi: parsing ${quote(digits)}: invalid syntax`;
    throw new Error(`invalid value for IntOrString: invalid value ${quote(text)}: ${why}`);
  }
  return Number(digits);
}
