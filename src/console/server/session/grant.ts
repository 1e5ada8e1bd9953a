// The identity that a user has proved at sign-in, and until when it holds.

import * as apierrors from '#machinery/apierrors.ts';
import { isPlainObject } from '#machinery/deep.ts';
import type { ConsoleServices, Credentials, User } from '../http.ts';

export interface Grant {
  readonly user: User;
  /** When the credentials expire, in ms of the cluster's clock. Infinity: not known. */
  readonly expiresMs: number;
  /**
   * Reports whether the credentials are still valid: a token may be revoked, and its ServiceAccount
   * deleted. Absent: only the time ends them.
   */
  readonly isValid?: () => Promise<boolean>;
  /**
   * Gets later credentials of the same user. Resolves to undefined if there are none any more, and
   * rejects if they cannot be had at the moment. Absent: the user has to sign in again.
   */
  readonly renew?: () => Promise<Grant | undefined>;
}

type Authenticate = ConsoleServices['authenticate'];

/** Returns the grant of a bearer token. Throws Unauthorized. */
export async function grantOfToken(authenticate: Authenticate, token: string): Promise<Grant> {
  // Other characters could not be in a header.
  const user = /^[\x21-\x7e]+$/.test(token)
    ? await authenticate({ headers: { authorization: `Bearer ${token}` } })
    : undefined;
  if (user === undefined) throw apierrors.unauthorized('the token is not valid');
  return { user, expiresMs: expiryOf(token), isValid: validity(authenticate, token, user) };
}

/**
 * Returns the grant of a request that was authenticated by its certificate or token. `user`: the
 * user that was authorized, which may be an impersonated one.
 */
export function grantOfRequest(
  authenticate: Authenticate,
  { headers, peerCertificate }: Credentials,
  user: User,
): Grant {
  const [, token] = /^bearer +(\S+)\s*$/i.exec(headers['authorization'] ?? '') ?? [];
  const certificateEnd = peerCertificate?.notAfter ?? Infinity;
  if (token === undefined) return { user, expiresMs: certificateEnd };
  return {
    user,
    expiresMs: Math.min(certificateEnd, expiryOf(token)),
    // With a certificate the token may not be what counted.
    ...(peerCertificate === undefined && { isValid: validity(authenticate, token) }),
  };
}

/** Returns the check of a token. `user`: the one that it has to prove. Default: any. */
function validity(authenticate: Authenticate, token: string, user?: User): () => Promise<boolean> {
  const credentials = { headers: { authorization: `Bearer ${token}` } };
  return async () => {
    const present = await authenticate(credentials);
    return present !== undefined && (user === undefined || present.name === user.name);
  };
}

/** Returns when a JSON web token expires, in ms. Infinity: it is none, or does not say. */
function expiryOf(token: string): number {
  const [, payload, signature] = token.split('.', 3);
  if (payload === undefined || signature === undefined) return Infinity;
  let claims: unknown;
  try {
    claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  } catch {
    // Another kind of token has dots, too.
    return Infinity;
  }
  const exp = isPlainObject(claims) ? claims['exp'] : undefined;
  return typeof exp === 'number' ? exp * 1000 : Infinity;
}
