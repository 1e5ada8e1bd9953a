// Values that are a number or a text: ports by number or name, amounts by count or percentage (maxUnavailable: '25%').

import { quote } from './go-format.ts';

export type IntOrString = number | string;

/** The value as an int32 and no text in it. */
export function isInt(value: IntOrString): value is number {
  return typeof value === 'number';
}

/** The number itself, or the one that the text is; 0 if it is none. */
export function intValue(value: IntOrString): number {
  if (typeof value === 'number') return value;
  return /^[+-]?\d+$/.test(value) ? Number(value) : 0;
}

/**
 * The amount that the value means of `total`: a number is itself, a percentage is that share, rounded up or down.
 * Throws an Error with Kubernetes' message for undefined and for texts that are no percentage.
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
