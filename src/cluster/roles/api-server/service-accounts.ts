// The keys and settings of ServiceAccount tokens.

import type { ApiServerConfig } from '#apiserver/config.ts';
import {
  EXTENDED_TOKEN_SECONDS,
  MOUNTED_TOKEN_SECONDS,
} from '#apiserver/authentication/service-account-tokens.ts';
import type { Logger } from '#machinery/log.ts';
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
  const { serviceAccountExtendTokenExpiration: extendExpiration = true } = config;
  if (extendExpiration) warnOfExtension(config.logger, maxExpirationSeconds);
  const [issuer, ...acceptedIssuers] = config.serviceAccountIssuer ?? [];
  return {
    signingKey,
    publicKeys: [signingKey, ...readAccountKeys(config.serviceAccountKeyFile ?? [])],
    issuer,
    acceptedIssuers,
    jwksUri: config.serviceAccountJwksUri,
    audiences: config.apiAudiences,
    mountTokens: true,
    extendExpiration,
    ...(maxExpirationSeconds !== undefined && { maxExpirationSeconds }),
  };
}

/** Tokens of pods are extended whatever the limit is, as upstream. */
function warnOfExtension(logger: Logger, maxSeconds = Infinity): void {
  const flags =
    '--service-account-extend-token-expiration is true, --service-account-max-token-expiration is';
  if (maxSeconds < MOUNTED_TOKEN_SECONDS)
    logger.warn(`${flags} less than ${MOUNTED_TOKEN_SECONDS} s: tokens of pods are not extended`);
  else if (maxSeconds < EXTENDED_TOKEN_SECONDS)
    logger.warn(`${flags} ${maxSeconds} s: tokens of pods are valid for a year all the same`);
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
