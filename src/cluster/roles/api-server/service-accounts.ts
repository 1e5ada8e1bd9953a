// The keys and settings of ServiceAccount tokens.

import type { ApiServerConfig } from '#apiserver/config.ts';
import { tokenSigner } from '#machinery/token-keys.ts';
import { UserError } from '../../user-error.ts';
import type { ApiServerRoleConfig } from './config.ts';
import { type CertificateFiles, checkKeys, readAccountKeys } from './files.ts';

/** Throws UserError for keys that are missing or damaged. */
export function serviceAccountsOf(
  config: ApiServerRoleConfig,
  files: CertificateFiles,
): NonNullable<ApiServerConfig['serviceAccounts']> {
  const maxExpirationSeconds = maxTokenExpiration(config.serviceAccountMaxTokenExpiration);
  const signingKey = files.required(
    'service-account-signing-key-file',
    config.serviceAccountSigningKeyFile,
    'sa.key',
  );
  checkKeys('--service-account-signing-key-file', () => tokenSigner(signingKey));
  const [issuer, ...acceptedIssuers] = config.serviceAccountIssuer ?? [];
  return {
    signingKey,
    publicKeys: [signingKey, ...readAccountKeys(config.serviceAccountKeyFile ?? [])],
    issuer,
    acceptedIssuers,
    jwksUri: config.serviceAccountJwksUri,
    audiences: config.apiAudiences,
    mountTokens: true,
    ...(maxExpirationSeconds !== undefined && { maxExpirationSeconds }),
  };
}

/** Returns seconds; undefined: there is no limit. */
function maxTokenExpiration(ms: number | undefined): number | undefined {
  if (ms === undefined || ms === 0) return undefined;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 3600 || seconds > 2 ** 32) {
    throw new UserError(
      '--service-account-max-token-expiration must be between 1 hour and 2^32 seconds',
    );
  }
  return seconds;
}
