// The keys and settings of ServiceAccount tokens.

import type {
  ExternalAccountKeys,
  LocalAccountKeys,
  ServiceAccountKeyConfig,
} from '#apiserver/config.ts';
import { ExternalSigner } from '#apiserver/authentication/external-signer/external-signer.ts';
import {
  EXTENDED_TOKEN_SECONDS,
  MOUNTED_TOKEN_SECONDS,
} from '#apiserver/authentication/service-account-tokens.ts';
import { HAS_ABSTRACT_SOCKETS } from '#machinery/grpc/connection.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import { tokenSigner } from '#machinery/token-keys.ts';
import { UserError } from '../../user-error.ts';
import type { ApiServerRoleConfig } from './config.ts';
import { type CertificateFiles, checkKeys, readAccountKeys } from './files.ts';

/** As upstream's names of abstract sockets. */
const ABSTRACT_SOCKET = /^@(?:[\w-]+\.)*[\w-]+$/;
const MIN_EXPIRATION_SECONDS = 600;

/**
 * Waits for a program that signs tokens, up to a minute. Rejects with UserError for keys that are
 * missing or damaged, and for a program that cannot be used.
 */
export async function serviceAccountsOf(
  config: ApiServerRoleConfig,
  files: CertificateFiles,
): Promise<ServiceAccountKeyConfig> {
  const { serviceAccountSigningEndpoint: endpoint } = config;
  const maxSeconds = maxTokenExpiration(config.serviceAccountMaxTokenExpiration);
  const keys = endpoint === undefined ? localKeys(config, files) : externalKeys(config, endpoint);
  const signerMaxSeconds =
    endpoint === undefined ? undefined : await signerMaximum(config, endpoint, maxSeconds);
  const maxExpirationSeconds = maxSeconds ?? signerMaxSeconds;
  const { serviceAccountExtendTokenExpiration: extendExpiration = true } = config;
  if (extendExpiration) warnOfExtension(config.logger, maxExpirationSeconds, signerMaxSeconds);
  const [issuer, ...acceptedIssuers] = config.serviceAccountIssuer ?? [];
  return {
    ...keys,
    issuer,
    acceptedIssuers,
    jwksUri: config.serviceAccountJwksUri,
    audiences: config.apiAudiences,
    mountTokens: true,
    extendExpiration,
    ...(maxExpirationSeconds !== undefined && { maxExpirationSeconds }),
    ...(signerMaxSeconds !== undefined && { maxExtendedSeconds: signerMaxSeconds }),
  };
}

function localKeys(config: ApiServerRoleConfig, files: CertificateFiles): LocalAccountKeys {
  const signingKey = files.required(
    'service-account-signing-key-file',
    config.serviceAccountSigningKeyFile,
    'sa.key',
  );
  checkKeys('--service-account-signing-key-file', () => tokenSigner(signingKey));
  return {
    signingKey,
    publicKeys: [signingKey, ...readAccountKeys(config.serviceAccountKeyFile ?? [])],
  };
}

function externalKeys(config: ApiServerRoleConfig, endpoint: string): ExternalAccountKeys {
  if (config.serviceAccountSigningKeyFile !== undefined || config.serviceAccountKeyFile?.length)
    throw new UserError(
      '--service-account-signing-endpoint excludes --service-account-signing-key-file and ' +
        '--service-account-key-file',
    );
  if (endpoint.startsWith('@') && !ABSTRACT_SOCKET.test(endpoint))
    throw new UserError(
      `--service-account-signing-endpoint: ${endpoint} is no name of an abstract socket`,
    );
  if (endpoint.startsWith('@') && !HAS_ABSTRACT_SOCKETS)
    throw new UserError(
      `--service-account-signing-endpoint=${endpoint}: abstract sockets need Node 22 or later`,
    );
  return { signingEndpoint: endpoint };
}

/** Returns the longest lifetime, in seconds, of the tokens that a program signs. */
async function signerMaximum(
  { clock, logger }: ApiServerRoleConfig,
  endpoint: string,
  maxSeconds = 0,
): Promise<number> {
  const flag = '--service-account-signing-endpoint';
  const signer = new ExternalSigner({ endpoint, clock, logger });
  let seconds: number;
  try {
    seconds = await signer.maxLifetimeSeconds();
  } catch (error) {
    throw new UserError(`${flag}: ${endpoint}: ${errorMessage(error)}`, { cause: error });
  } finally {
    signer.close();
  }
  if (seconds < MIN_EXPIRATION_SECONDS)
    throw new UserError(
      `${flag}: the program's tokens live for ${seconds} s at most; ${MIN_EXPIRATION_SECONDS} s are needed`,
    );
  if (maxSeconds > seconds)
    throw new UserError(
      `--service-account-max-token-expiration is ${maxSeconds} s, but the tokens of ${flag} live ` +
        `for ${seconds} s at most`,
    );
  return seconds;
}

/** Tokens of pods are extended whatever the limit is, as upstream, unless a program limits them. */
function warnOfExtension(logger: Logger, maxSeconds = Infinity, signerMaxSeconds = Infinity): void {
  const flags =
    '--service-account-extend-token-expiration is true, --service-account-max-token-expiration is';
  if (maxSeconds < MOUNTED_TOKEN_SECONDS)
    logger.warn(`${flags} less than ${MOUNTED_TOKEN_SECONDS} s: tokens of pods are not extended`);
  else if (maxSeconds < EXTENDED_TOKEN_SECONDS)
    logger.warn(
      `${flags} ${maxSeconds} s: tokens of pods are valid for ` +
        `${signerMaxSeconds < EXTENDED_TOKEN_SECONDS ? `${signerMaxSeconds} s` : 'a year'} all the same`,
    );
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
