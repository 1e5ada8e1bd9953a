// Durations in configuration: '1m30s'.

import { DurationError, parseDuration } from '#machinery/text/duration.ts';
import * as field from '#machinery/validation/field.ts';
import type { ConfigReader } from './reader.ts';

/** Returns milliseconds; rejects zero, unless `zero` is set. */
export function readDuration(reader: ConfigReader, zero = false): number | undefined {
  const text = reader.string();
  if (text === undefined) return undefined;
  try {
    const milliseconds = parseDuration(text);
    if (milliseconds > 0 || (zero && milliseconds === 0)) return milliseconds;
    reader.errors.push(field.invalid(reader.path, text, 'must be greater than zero'));
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    reader.errors.push(field.invalid(reader.path, text, error.message));
  }
  return undefined;
}
