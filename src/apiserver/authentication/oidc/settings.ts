// The issuers of JSON web tokens that a server accepts, as values: from the --oidc-… flags, or from
// the file of an AuthenticationConfiguration.

/** A claim, whose values get a prefix; or a CEL expression over the claims. */
export type ClaimSource =
  | { readonly claim: string; readonly prefix: string }
  | { readonly expression: string };

export interface ExtraSource {
  readonly key: string;
  readonly expression: string;
}

/** An expression that must be true. */
export interface ValidationRule {
  readonly expression: string;
  /** For the message when it is not. */
  readonly message: string;
}

export interface JwtSettings {
  /** The claim `iss` of tokens. */
  readonly issuer: string;
  /** The address of the issuer's configuration. Default: the well-known one below the issuer. */
  readonly discoveryUrl?: string;
  /** Certificate authorities of the issuer, as PEM. Default: those of Node. */
  readonly ca?: string;
  /** A token must be for one of them. */
  readonly audiences: readonly string[];
  readonly signingAlgorithms: readonly string[];
  readonly username: ClaimSource;
  /** Absent: users have no groups of the issuer. */
  readonly groups?: ClaimSource;
  /** Absent: users have no UID. */
  readonly uid?: ClaimSource;
  readonly extra: readonly ExtraSource[];
  /** Claims that a token must have with these values. */
  readonly requiredClaims: Readonly<Record<string, string>>;
  readonly claimRules: readonly ValidationRule[];
  readonly userRules: readonly ValidationRule[];
}

export const SIGNING_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'ES256',
  'ES384',
  'ES512',
  'PS256',
  'PS384',
  'PS512',
] as const;

/** The rules of the --oidc-… flags. */
export interface FlagRules {
  readonly issuer: string;
  readonly clientId: string;
  readonly ca?: string;
  /** Default: RS256. */
  readonly signingAlgorithms?: readonly string[];
  /** The claim with the user's name. Default: 'sub'. */
  readonly usernameClaim?: string;
  /**
   * The prefix of names; '-': none. Default: the issuer and '#', or none if the claim is 'email'.
   */
  readonly usernamePrefix?: string;
  /** The claim with the user's groups. Default: users have no groups of the issuer. */
  readonly groupsClaim?: string;
  readonly groupsPrefix?: string;
  readonly requiredClaims?: Readonly<Record<string, string>>;
}

export function jwtOfFlags(rules: FlagRules): JwtSettings {
  const {
    issuer,
    clientId,
    ca,
    usernameClaim = 'sub',
    groupsClaim = '',
    groupsPrefix = '',
  } = rules;
  return {
    issuer,
    ...(ca !== undefined && { ca }),
    audiences: [clientId],
    signingAlgorithms: rules.signingAlgorithms ?? ['RS256'],
    username: { claim: usernameClaim, prefix: usernamePrefixOf(rules) },
    ...(groupsClaim !== '' && { groups: { claim: groupsClaim, prefix: groupsPrefix } }),
    extra: [],
    requiredClaims: rules.requiredClaims ?? {},
    claimRules: [],
    userRules: [],
  };
}

function usernamePrefixOf({ issuer, usernameClaim, usernamePrefix = '' }: FlagRules): string {
  if (usernamePrefix === '-') return '';
  if (usernamePrefix !== '') return usernamePrefix;
  return usernameClaim === 'email' ? '' : `${issuer}#`;
}
