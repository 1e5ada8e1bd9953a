// OpenID Connect for an API server: its provider and rules from flags, and the console's client.

import { resolve } from 'node:path';
import {
  jwtOfFlags,
  type JwtSettings,
  SIGNING_ALGORITHMS,
} from '#apiserver/authentication/oidc/settings.ts';
import type { OidcClient } from '#console/server/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { OidcProvider } from '#machinery/net/oidc/provider.ts';
import { checkAuthority, readFlagFile } from '../flags/flag-files.ts';
import { UserError } from '../user-error.ts';

/** The flags of kube-apiserver, and two of the console. */
export interface OidcFlags {
  readonly oidcIssuerUrl?: string;
  readonly oidcClientId?: string;
  readonly oidcCaFile?: string;
  readonly oidcUsernameClaim?: string;
  readonly oidcUsernamePrefix?: string;
  readonly oidcGroupsClaim?: string;
  readonly oidcGroupsPrefix?: string;
  readonly oidcRequiredClaim?: readonly string[];
  readonly oidcSigningAlgs?: readonly string[];
  /** A file with the console's secret. Default: it is a public client. */
  readonly consoleOidcClientSecretFile?: string;
  /** The scopes that the console requests. Default: openid, profile, email. */
  readonly consoleOidcScopes?: readonly string[];
}

export interface OidcSettings {
  /** The issuer's settings for the API server. */
  readonly jwt: JwtSettings;
  /** The console's client of the provider. */
  readonly client: OidcClient;
}

/** Returns the settings. Undefined: no flag is set. Throws UserError. */
export function oidcOf(flags: OidcFlags, clock: Clock): OidcSettings | undefined {
  const { oidcIssuerUrl: issuer = '', oidcClientId: clientId = '' } = flags;
  const set = Object.entries(flags).flatMap(([name, value]) =>
    /^(consoleO|o)idc/.test(name) && value !== undefined ? [flagNamed(name)] : [],
  );
  if (set.length === 0) return undefined;
  if (issuer === '' || clientId === '')
    throw new UserError(
      `${set.join(', ')}: oidc-issuer-url and oidc-client-id must be specified together when any ` +
        'oidc-* flags are set',
    );
  checkIssuer(issuer);
  const signingAlgorithms = flags.oidcSigningAlgs ?? ['RS256'];
  for (const name of signingAlgorithms)
    if (!(SIGNING_ALGORITHMS as readonly string[]).includes(name))
      throw new UserError(`--oidc-signing-algs: oidc: unsupported signing alg: "${name}"`);
  const ca =
    flags.oidcCaFile === undefined
      ? undefined
      : readFlagFile('--oidc-ca-file', resolve(flags.oidcCaFile));
  if (ca !== undefined) checkAuthority('--oidc-ca-file', ca);
  const provider = new OidcProvider({ issuer, clock, ...(ca !== undefined && { ca }) });
  const secretFile = flags.consoleOidcClientSecretFile;
  const clientSecret =
    secretFile === undefined
      ? undefined
      : readFlagFile('--console-oidc-client-secret-file', resolve(secretFile)).trim();
  const scopes = flags.consoleOidcScopes ?? ['openid', 'profile', 'email'];
  return {
    jwt: jwtOfFlags({
      issuer,
      clientId,
      ...(ca !== undefined && { ca }),
      signingAlgorithms,
      requiredClaims: requiredClaims(flags.oidcRequiredClaim ?? []),
      ...(flags.oidcUsernameClaim !== undefined && { usernameClaim: flags.oidcUsernameClaim }),
      ...(flags.oidcUsernamePrefix !== undefined && { usernamePrefix: flags.oidcUsernamePrefix }),
      ...(flags.oidcGroupsClaim !== undefined && { groupsClaim: flags.oidcGroupsClaim }),
      ...(flags.oidcGroupsPrefix !== undefined && { groupsPrefix: flags.oidcGroupsPrefix }),
    }),
    client: {
      provider,
      clientId,
      scopes: [...new Set(['openid', ...scopes])],
      ...(clientSecret !== undefined && { clientSecret }),
    },
  };
}

/** Returns '--oidc-ca-file' for 'oidcCaFile'. */
const flagNamed = (name: string): string =>
  `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Checks the address as upstream does, with its messages. */
function checkIssuer(issuer: string): void {
  const fail = (reason: string): never => {
    throw new UserError(`--oidc-issuer-url: ${JSON.stringify(issuer)}: ${reason}`);
  };
  if (!URL.canParse(issuer)) fail('it is no URL');
  const { protocol, username, password, hostname } = new URL(issuer);
  if (protocol !== 'https:') fail('URL scheme must be https');
  if (username !== '' || password !== '') fail('URL must not contain a username or password');
  if (issuer.includes('?')) fail('URL must not contain a query');
  if (issuer.includes('#')) fail('URL must not contain a fragment');
  if (hostname === '') fail('it has no host');
}

function requiredClaims(pairs: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const sign = pair.indexOf('=');
      if (sign < 1)
        throw new UserError(`--oidc-required-claim: malformed pair, expect string=string: ${pair}`);
      return [pair.slice(0, sign).trim(), pair.slice(sign + 1).trim()];
    }),
  );
}
