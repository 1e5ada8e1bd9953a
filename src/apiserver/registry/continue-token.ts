// The `continue` token of a paged list: the start of the next page, and the revision of the list.
// It has the same form as in Kubernetes, but is opaque to clients.

import * as apierrors from '#machinery/apierrors.ts';
import { isPlainObject } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { jsonType } from '#machinery/text/go-value.ts';
import { parseJson } from '#machinery/text/json.ts';

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

/** Decodes a token. Throws BadRequest, with upstream's messages. */
export function decodeContinue(text: string): ContinueToken {
  const parsed = parsedToken(text);
  const { v = '', rv = 0, start = '' } = parsed;
  if (v !== VERSION) throw invalidToken(`: server does not recognize this encoded version ${v}`);
  if (rv === 0)
    throw invalidToken(`: incorrect encoded start resourceVersion (version ${VERSION})`);
  if (start === '') throw invalidToken(`: encoded start key empty (version ${VERSION})`);
  const lastKey = start.endsWith('\0') ? start.slice(0, -1) : start;
  // The key is not trusted: it must not lead out of the resource.
  const parts = lastKey.split('/');
  if (parts[0] === '') parts.shift();
  if (parts.some((part) => part === '' || part === '.' || part === '..'))
    throw invalidToken(`: ${start}`);
  return { revision: rv, lastKey: parts.join('/') };
}

interface Parsed {
  readonly v?: string;
  readonly rv?: number;
  readonly start?: string;
}

function parsedToken(text: string): Parsed {
  const wrong = text.search(/[^A-Za-z0-9_\r\n-]/);
  const at = wrong >= 0 ? wrong : text.length % 4 === 1 ? text.length - 1 : undefined;
  if (at !== undefined) throw invalidToken(`: illegal base64 data at input byte ${at}`);
  const bytes = Buffer.from(text, 'base64url');
  let token: unknown;
  try {
    token = parseJson(bytes);
  } catch (error) {
    throw invalidToken(`: ${syntaxError(bytes) ?? errorMessage(error)}`);
  }
  if (token === null) return {};
  if (!isPlainObject(token))
    throw invalidToken(
      `: json: cannot unmarshal ${jsonType(token)} into Go value of type storage.continueToken`,
    );
  checkType('v', 'string', token['v']);
  checkType('rv', 'int64', token['rv']);
  checkType('start', 'string', token['start']);
  return token;
}

/** Returns the syntax error in bytes that need not be UTF-8: Go names the byte. */
function syntaxError(bytes: Buffer): string | undefined {
  try {
    parseJson(bytes.toString('latin1'));
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

function checkType(name: string, type: 'string' | 'int64', value: unknown): void {
  if (value === undefined || value === null) return;
  if (type === 'string' ? typeof value === 'string' : Number.isSafeInteger(value)) return;
  const given = type === 'int64' && typeof value === 'number' ? `number ${value}` : jsonType(value);
  throw invalidToken(
    `: json: cannot unmarshal ${given} into Go struct field continueToken.${name} of type ${type}`,
  );
}

function invalidToken(why: string): apierrors.StatusError {
  return apierrors.badRequest(`invalid continue token: continue key is not valid${why}`);
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
