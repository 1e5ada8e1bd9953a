// resourceVersions: opaque to clients, revisions of the storage inside the server.

import * as apierrors from '#machinery/apierrors.ts';
import { quote } from '#machinery/text/go-format.ts';
import { IntegerError, parseUint64 } from '#machinery/text/go-numbers.ts';

/**
 * Parses a resourceVersion; 0 for '' and '0'. Throws BadRequest for a text that is no number. Numbers
 * above 2^53, which no revision reaches, count as the highest one below. `prefix`: the beginning of
 * the message.
 */
export function parseResourceVersion(text: string, prefix = ''): number {
  if (text === '' || text === '0') return 0;
  try {
    return parseUint64(text);
  } catch (error) {
    if (!(error instanceof IntegerError)) throw error;
    throw apierrors.badRequest(
      `${prefix}resourceVersion: Invalid value: ${quote(text)}: ${error.message}`,
    );
  }
}
