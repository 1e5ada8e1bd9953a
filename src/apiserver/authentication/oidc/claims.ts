// The user of an ID token: from the claims of a token whose signature is valid. The texts of errors
// are those of kube-apiserver's log.

import type { JwtSettings } from './settings.ts';

export type Claims = Readonly<Record<string, unknown>>;

/** A token that does not identify a user. */
export class ClaimError extends Error {}

/** go-oidc's leeway for `nbf`, in seconds. `exp` has none. */
const NOT_BEFORE_LEEWAY_SECONDS = 300;

/** Checks issuer, audience and lifetime. `now`: in ms. Throws ClaimError. */
export function checkToken(
  claims: Claims,
  { issuer, audiences: accepted }: Pick<JwtSettings, 'issuer' | 'audiences'>,
  now: number,
): void {
  const { iss, aud, exp, nbf } = claims;
  if (iss !== issuer)
    throw new ClaimError('oidc: verify token: oidc: id token issued by a different provider');
  const audiences = typeof aud === 'string' ? [aud] : Array.isArray(aud) ? aud : [];
  if (!accepted.some((audience) => audiences.includes(audience)))
    throw new ClaimError(
      `oidc: verify token: oidc: expected audience in [${accepted.map((each) => JSON.stringify(each)).join(' ')}]`,
    );
  if (typeof exp !== 'number' || exp * 1000 < now)
    throw new ClaimError('oidc: verify token: oidc: token is expired');
  if (typeof nbf === 'number' && (nbf - NOT_BEFORE_LEEWAY_SECONDS) * 1000 > now)
    throw new ClaimError(
      'oidc: verify token: oidc: current time is before the nbf (not before) time',
    );
}

/** Returns the ID of the credentials: that of the token. */
export function credentialId({ jti }: Claims): string | undefined {
  return typeof jti === 'string' && jti !== '' ? `JTI=${jti}` : undefined;
}

/** Checks that the claims have these values. Throws ClaimError. */
export function checkRequired(claims: Claims, required: Readonly<Record<string, string>>): void {
  for (const [claim, value] of Object.entries(required)) {
    if (!Object.hasOwn(claims, claim))
      throw new ClaimError(`oidc: required claim ${claim} not present in ID token`);
    const present = stringClaim(claims, claim, 'claim');
    if (present !== value)
      throw new ClaimError(
        `oidc: required claim ${claim} value does not match. Got = ${present}, want = ${value}`,
      );
  }
}

/** Returns the user's name of a claim. Throws ClaimError. */
export function nameOf(claims: Claims, claim: string): string {
  const name = stringClaim(claims, claim, 'username claims');
  if (claim === 'email' && 'email_verified' in claims) {
    const { email_verified: verified } = claims;
    if (typeof verified !== 'boolean')
      throw new ClaimError("oidc: parse 'email_verified' claim: it is no boolean");
    if (!verified) throw new ClaimError('oidc: email not verified');
  }
  return name;
}

/** Returns the text of a claim. `what`: for the message. Throws ClaimError. */
export function stringClaim(claims: Claims, claim: string, what: string): string {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  if (value === undefined)
    throw new ClaimError(`oidc: parse ${what} ${JSON.stringify(claim)}: claim not present`);
  if (typeof value !== 'string')
    throw new ClaimError(`oidc: parse ${what} ${JSON.stringify(claim)}: it is no string`);
  return value;
}

/** Returns the groups of a claim: one string, or several. Throws ClaimError. */
export function groupsOf(claims: Claims, claim: string): readonly string[] {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  if (value === undefined) return [];
  if (typeof value === 'string') return [value];
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
  throw new ClaimError(
    `oidc: parse groups claim ${JSON.stringify(claim)}: it is no string or array of strings`,
  );
}
