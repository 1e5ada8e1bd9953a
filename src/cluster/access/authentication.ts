// The users of requests, from kube-apiserver's flags: the file of an AuthenticationConfiguration, the
// webhook for tokens, and requests without credentials.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  type AuthenticationSettings as FileSettings,
  readAuthenticationConfiguration,
} from '#apiserver/authentication/configuration/read.ts';
import {
  IssuerUnavailableError,
  newIssuersAnswer,
} from '#apiserver/authentication/oidc/new-issuers.ts';
import type { JwtSettings } from '#apiserver/authentication/oidc/settings.ts';
import type { TokenWebhookSettings } from '#apiserver/authentication/webhook/webhook-tokens.ts';
import { DEFAULT_ISSUER } from '#apiserver/authentication/service-account-tokens.ts';
import type { AuthorizerSettings } from '#apiserver/authorization/settings.ts';
import type { ApiServerConfig } from '#apiserver/config.ts';
import { ConfigurationError } from '#apiserver/configuration-files/decode.ts';
import type { AnonymousRequests } from '#apiserver/filters/authentication.ts';
import { loadKubeconfig } from '#client/kubeconfig.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import { quoted } from '../flags/quoted.ts';
import type { AccessOptions } from './options.ts';
import { UserError } from '../user-error.ts';
import { ReloadedFile } from './reloaded-file.ts';

export interface AuthenticationFlags extends Pick<AccessOptions, 'authenticationConfig'> {
  /** The kubeconfig of the webhook that knows bearer tokens. Default: there is none. */
  readonly authenticationTokenWebhookConfigFile?: string;
  /** Default: 'v1beta1', as upstream. */
  readonly authenticationTokenWebhookVersion?: string;
  /** In ms; 0 keeps no answers. Default: two minutes. */
  readonly authenticationTokenWebhookCacheTtl?: number;
  /**
   * Whether requests without credentials are authorized as system:anonymous. Default: only those
   * for health and version.
   */
  readonly anonymousAuth?: boolean;
}

export interface AuthenticationContext {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The issuer of the --oidc-… flags. Default: there is none. */
  readonly oidc?: JwtSettings;
  /** The issuers of the server's own tokens. Default: that of the API server. */
  readonly serviceAccountIssuers?: readonly string[];
  readonly authorizers: readonly AuthorizerSettings[];
}

export interface AuthenticationSettings {
  readonly config: Pick<ApiServerConfig, 'jwt' | 'tokenWebhook' | 'anonymous'>;
  /** Absent: there is no file. */
  readonly file?: Pick<ReloadedFile<unknown>, 'keepLoaded' | 'metrics'>;
}

const CONFIG_FLAG = '--authentication-config';
const WEBHOOK_FLAG = '--authentication-token-webhook';
const TOKEN_TTL_MS = 2 * 60_000;
const REVIEW_VERSIONS = ['v1', 'v1beta1'] as const;

/** Returns the settings that the flags describe. Rejects with UserError. */
export async function authenticationOf(
  flags: AuthenticationFlags,
  context: AuthenticationContext,
): Promise<AuthenticationSettings> {
  const tokenWebhook = await tokenWebhookOf(flags, context.clock);
  const { authenticationConfig: path } = flags;
  const file = path === undefined ? undefined : configuredBy(resolve(path), context);
  if (file !== undefined && context.oidc !== undefined)
    throw new UserError('authentication-config file and oidc-* flags are mutually exclusive');
  const { oidc } = context;
  const fixed = oidc === undefined ? undefined : [oidc];
  const jwt = file === undefined ? fixed && (() => fixed) : () => file.current.jwt;
  const anonymous = anonymousRequests(flags, file?.current, context.authorizers);
  return {
    config: {
      ...(jwt !== undefined && { jwt }),
      ...(tokenWebhook !== undefined && { tokenWebhook }),
      ...(anonymous !== undefined && { anonymous }),
    },
    ...(file !== undefined && { file }),
  };
}

function configuredBy(path: string, context: AuthenticationContext): ReloadedFile<FileSettings> {
  const { serviceAccountIssuers = [DEFAULT_ISSUER] } = context;
  try {
    const text = readFileSync(path, 'utf8');
    const current = readAuthenticationConfiguration(text, serviceAccountIssuers);
    const file: ReloadedFile<FileSettings> = new ReloadedFile({
      clock: context.clock,
      logger: context.logger,
      path,
      subject: 'authentication',
      text,
      current,
      retries: (error) => error instanceof IssuerUnavailableError,
      read: async (changed, signal) => {
        const settings = readAuthenticationConfiguration(changed, serviceAccountIssuers);
        if (!isDeepStrictEqual(settings.anonymous, current.anonymous))
          throw new ConfigurationError(
            'anonymous: Forbidden: changed from initial configuration file',
          );
        await newIssuersAnswer(settings.jwt, file.current.jwt, { clock: context.clock, signal });
        return settings;
      },
    });
    return file;
  } catch (error) {
    throw new UserError(`${CONFIG_FLAG}: ${path}: ${errorMessage(error)}`, { cause: error });
  }
}

/**
 * Returns which requests without credentials are served; undefined for the default. If a flag allows
 * them and every user may do everything, they are rejected, as upstream does.
 */
function anonymousRequests(
  { anonymousAuth }: AuthenticationFlags,
  file: FileSettings | undefined,
  authorizers: readonly AuthorizerSettings[],
): AnonymousRequests | undefined {
  if (file?.anonymous !== undefined) {
    if (anonymousAuth !== undefined)
      throw new UserError(
        'anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is ' +
          'configured in authentication configuration file',
      );
    const { enabled, paths } = file.anonymous;
    if (!enabled) return 'none';
    return paths.length === 0 ? 'all' : { paths };
  }
  if (anonymousAuth === false) return 'none';
  return anonymousAuth === true && authorizers.every(({ type }) => type !== 'AlwaysAllow')
    ? 'all'
    : undefined;
}

async function tokenWebhookOf(
  flags: AuthenticationFlags,
  clock: Clock,
): Promise<TokenWebhookSettings | undefined> {
  const { authenticationTokenWebhookConfigFile: file } = flags;
  const { authenticationTokenWebhookVersion: version = 'v1beta1' } = flags;
  const reviewVersion = REVIEW_VERSIONS.find((known) => known === version);
  if (reviewVersion === undefined)
    throw new UserError(
      `${WEBHOOK_FLAG}-version: unsupported webhook authenticator version ${quoted(version)}, ` +
        'supported versions are "v1", "v1beta1"',
    );
  if (file === undefined) return undefined;
  const path = resolve(file);
  try {
    await loadKubeconfig(path, { clock });
  } catch (error) {
    throw new UserError(`${WEBHOOK_FLAG}-config-file: ${errorMessage(error)}`, { cause: error });
  }
  return {
    kubeConfigFile: path,
    reviewVersion,
    cacheTtlMs: flags.authenticationTokenWebhookCacheTtl ?? TOKEN_TTL_MS,
  };
}
