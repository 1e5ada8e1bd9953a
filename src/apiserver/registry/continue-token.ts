// The `continue` token of a paged list: the start of the next page, and the revision of the list.
// It has the same form as in Kubernetes, but is opaque to clients.

import * as apierrors from '#machinery/apierrors.ts';

export interface ContinueToken {
  /** The revision; -1: the newest state (after the revision of the first page has expired). */
  readonly revision: number;
  /** The last key of the previous page, without the prefix of the resource. */
  readonly lastKey: string;
}

const VERSION = 'meta.k8s.io/v1';

export function encodeContinue(token: ContinueToken): string {
  // 'start' is the first possible key of the next page: the smallest key greater than the last one.
  const text = JSON.stringify({ v: VERSION, rv: token.revision, start: `${token.lastKey}\0` });
  return Buffer.from(text, 'utf8').toString('base64url');
}

/** Decodes a token. Throws BadRequest. */
export function decodeContinue(text: string): ContinueToken {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    throw invalidToken();
  }
  if (typeof parsed !== 'object' || parsed === null) throw invalidToken();
  const { v, rv, start } = parsed as { v?: unknown; rv?: unknown; start?: unknown };
  if (v !== VERSION)
    throw apierrors.badRequest(
      'invalid continue token: continue key is not valid: server does not recognize this ' +
        `encoded version ${JSON.stringify(v)}`,
    );
  if (
    typeof rv !== 'number' ||
    !Number.isSafeInteger(rv) ||
    rv === 0 ||
    typeof start !== 'string' ||
    start.length < 2
  ) {
    throw invalidToken();
  }
  const lastKey = start.endsWith('\0') ? start.slice(0, -1) : start;
  // The key is not trusted: it must not lead out of the resource.
  if (lastKey.split('/').some((part) => part === '' || part === '.' || part === '..'))
    throw invalidToken();
  return { revision: rv, lastKey };
}

function invalidToken(): apierrors.StatusError {
  return apierrors.badRequest('invalid continue token: continue key is not valid');
}

/**
 * Returns the error 410 for a token whose revision is compacted, with a token that continues at the
 * newest state.
 */
export function expiredContinue(token: ContinueToken): apierrors.StatusError {
  const expired = apierrors.resourceExpired(
    'The provided continue parameter is too old to display a consistent list result. You can ' +
      'start a new list without ' +
      'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
      'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
      'deleted between the time the first chunk was returned and now may show up in the list.',
  );
  const metadata = { continue: encodeContinue({ revision: -1, lastKey: token.lastKey }) };
  return apierrors.fromStatus({ ...expired.status, metadata });
}
