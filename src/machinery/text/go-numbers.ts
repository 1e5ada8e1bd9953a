// Integers in texts, as Go's strconv reads them: texts and errors are those of clients that expect
// Kubernetes.

import { quote } from './go-format.ts';

/** The message is Go's, such as 'strconv.ParseInt: parsing "x": invalid syntax'. */
export class IntegerError extends Error {}

const MAX_INT64 = 2n ** 63n - 1n;
const MAX_UINT64 = 2n ** 64n - 1n;

/**
 * Parses a signed 64-bit integer. A value that a number cannot hold exactly becomes the safe integer
 * nearest to it. Throws IntegerError.
 */
export function parseInt64(text: string): number {
  if (!/^[+-]?[0-9]+$/.test(text)) throw failure('ParseInt', text, 'invalid syntax');
  return inRange(text, 'ParseInt', -MAX_INT64 - 1n, MAX_INT64);
}

/** Parses an unsigned 64-bit integer, in the same way. Throws IntegerError. */
export function parseUint64(text: string): number {
  if (!/^[0-9]+$/.test(text)) throw failure('ParseUint', text, 'invalid syntax');
  return inRange(text, 'ParseUint', 0n, MAX_UINT64);
}

function inRange(text: string, parser: string, minimum: bigint, maximum: bigint): number {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  const exact = BigInt(text.replace('+', ''));
  if (exact < minimum || exact > maximum) throw failure(parser, text, 'value out of range');
  return exact < 0n ? Number.MIN_SAFE_INTEGER : Number.MAX_SAFE_INTEGER;
}

const failure = (parser: string, text: string, problem: string): IntegerError =>
  new IntegerError(`strconv.${parser}: parsing ${quote(text)}: ${problem}`);
