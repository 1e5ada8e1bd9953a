// The user of an ID token: from the claims of a token whose signature is valid. The texts of errors
// are those of kube-apiserver's log.

import { isPlainObject } from '#machinery/deep.ts';
import type { UserInfo } from '../../request.ts';

export interface ClaimSettings {
  /** The claim with the user's name. Default: 'sub'. */
  readonly usernameClaim?: string;
  /**
   * The prefix of names; '-': none. Default: the issuer and '#', or none if the claim is 'email'.
   */
  readonly usernamePrefix?: string;
  /** The claim with the user's groups. Default: users have no groups of the provider. */
  readonly groupsClaim?: string;
  readonly groupsPrefix?: string;
  /** Claims that a token must have with these values. */
  readonly requiredClaims?: Readonly<Record<string, string>>;
}

export interface IdentityRules extends ClaimSettings {
  readonly issuer: string;
  readonly clientId: string;
}

export type Claims = Readonly<Record<string, unknown>>;

/** A token that does not identify a user. */
export class ClaimError extends Error {}

/** go-oidc's leeway for `nbf`, in seconds. `exp` has none. */
const NOT_BEFORE_LEEWAY_SECONDS = 300;

/** Checks issuer, audience and lifetime. `now`: in ms. Throws ClaimError. */
export function checkToken(claims: Claims, { issuer, clientId }: IdentityRules, now: number): void {
  const { iss, aud, exp, nbf } = claims;
  if (iss !== issuer)
    throw new ClaimError('oidc: verify token: oidc: id token issued by a different provider');
  const audiences = typeof aud === 'string' ? [aud] : Array.isArray(aud) ? aud : [];
  if (!audiences.includes(clientId))
    throw new ClaimError(`oidc: verify token: oidc: expected audience ${JSON.stringify(clientId)}`);
  if (typeof exp !== 'number' || exp * 1000 < now)
    throw new ClaimError('oidc: verify token: oidc: token is expired');
  if (typeof nbf === 'number' && (nbf - NOT_BEFORE_LEEWAY_SECONDS) * 1000 > now)
    throw new ClaimError(
      'oidc: verify token: oidc: current time is before the nbf (not before) time',
    );
}

/** Returns the user. Throws ClaimError if the claims do not identify one. */
export function userOfClaims(claims: Claims, rules: IdentityRules): UserInfo {
  const { usernameClaim = 'sub', groupsClaim = '', groupsPrefix = '' } = rules;
  const name = `${usernamePrefixOf(rules)}${stringClaim(claims, usernameClaim, 'username claims')}`;
  if (usernameClaim === 'email' && 'email_verified' in claims) {
    const { email_verified: verified } = claims;
    if (typeof verified !== 'boolean')
      throw new ClaimError("oidc: parse 'email_verified' claim: it is no boolean");
    if (!verified) throw new ClaimError('oidc: email not verified');
  }
  const groups = groupsClaim === '' ? [] : groupsOf(claims, groupsClaim);
  for (const [claim, value] of Object.entries(rules.requiredClaims ?? {})) {
    if (!Object.hasOwn(claims, claim))
      throw new ClaimError(`oidc: required claim ${claim} not present in ID token`);
    const present = stringClaim(claims, claim, 'claim');
    if (present !== value)
      throw new ClaimError(
        `oidc: required claim ${claim} value does not match. Got = ${present}, want = ${value}`,
      );
  }
  const { jti } = claims;
  return {
    name,
    groups: groups.map((group) => `${groupsPrefix}${group}`),
    ...(typeof jti === 'string' &&
      jti !== '' && { extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${jti}`] } }),
  };
}

function usernamePrefixOf({ issuer, usernameClaim = 'sub', usernamePrefix = '' }: IdentityRules) {
  if (usernamePrefix === '-') return '';
  if (usernamePrefix !== '') return usernamePrefix;
  return usernameClaim === 'email' ? '' : `${issuer}#`;
}

function stringClaim(claims: Claims, claim: string, what: string): string {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  if (value === undefined)
    throw new ClaimError(`oidc: parse ${what} ${JSON.stringify(claim)}: claim not present`);
  if (typeof value !== 'string')
    throw new ClaimError(`oidc: parse ${what} ${JSON.stringify(claim)}: it is no string`);
  return value;
}

/** Returns the groups: one string, or several. */
function groupsOf(claims: Claims, claim: string): readonly string[] {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  if (value === undefined) {
    const { _claim_names: names } = claims;
    // Silence would take rights away without a trace.
    if (isPlainObject(names) && Object.hasOwn(names, claim))
      throw new ClaimError(`oidc: could not expand distributed claims: ${claim} is one`);
    return [];
  }
  if (typeof value === 'string') return [value];
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
  throw new ClaimError(
    `oidc: parse groups claim ${JSON.stringify(claim)}: it is no string or array of strings`,
  );
}
