// The flags of an API server about other API servers: its identity when it calls them, and the
// front proxies that it trusts.

import type { AggregationConfig } from '#apiserver/aggregator/aggregator.ts';
import type { RequestHeaderConfig } from '#apiserver/authentication/request-header.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { keepRenewed, RELOAD_PERIOD_MS } from '../../credentials/certificate-renewal.ts';
import { standardRequestHeader } from '../../credentials/front-proxy.ts';
import type { KeyPair } from '../../credentials/pki.ts';
import { UserError } from '../../user-error.ts';
import type { CertificateFiles } from './files.ts';
import { checkAuthority, checkKeyPair } from '../../flags/flag-files.ts';

/** How front proxies are known, which name users in headers. */
export interface RequestHeaderFlags {
  /** The authority of their certificates. Default: there are none. */
  readonly requestheaderClientCaFile?: string;
  readonly requestheaderAllowedNames?: readonly string[];
  readonly requestheaderUsernameHeaders?: readonly string[];
  readonly requestheaderUidHeaders?: readonly string[];
  readonly requestheaderGroupHeaders?: readonly string[];
  readonly requestheaderExtraHeadersPrefix?: readonly string[];
}

export interface AggregationFlags extends RequestHeaderFlags {
  readonly proxyClientCertFile?: string;
  readonly proxyClientKeyFile?: string;
  /** Default: true. */
  readonly aggregatorRejectForwardingRedirect?: boolean;
}

export interface AggregationSettings {
  readonly config: AggregationConfig;
  readonly requestHeader: RequestHeaderConfig | undefined;
  /** Reads the authority of front proxies again. */
  readonly latestAuthority: () => string | undefined;
  /** Reads the files of the client certificate again, once per minute, until the signal aborts. */
  keepRenewed(
    services: { readonly clock: Clock; readonly logger: Logger },
    signal: AbortSignal,
  ): Promise<void>;
}

/** Throws UserError. */
export function aggregationOf(
  config: AggregationFlags,
  files: CertificateFiles,
): AggregationSettings {
  const read = (): KeyPair | undefined =>
    files.pair(
      { cert: 'proxy-client-cert-file', key: 'proxy-client-key-file' },
      { cert: config.proxyClientCertFile, key: config.proxyClientKeyFile },
      'front-proxy-client',
    );
  let current = read();
  if (current !== undefined)
    checkKeyPair('--proxy-client-cert-file, --proxy-client-key-file', current);
  const { aggregatorRejectForwardingRedirect: rejectRedirects } = config;
  return {
    config: {
      proxyClientCertificate: () => current,
      ...(rejectRedirects !== undefined && { rejectRedirects }),
    },
    requestHeader: requestHeaderOf(config, files),
    latestAuthority: () => requestHeaderOf(config, files)?.ca,
    async keepRenewed({ clock, logger }, signal) {
      if (current === undefined) return;
      const use = (pair: KeyPair): void => void (current = pair);
      const latest = (): KeyPair => read() ?? (current as KeyPair);
      await keepRenewed(
        {
          clock,
          logger,
          name: 'front-proxy-client',
          current,
          periodMs: RELOAD_PERIOD_MS,
          latest,
          use,
        },
        signal,
      );
    },
  };
}

/**
 * Front proxies of the authority in --cert-dir have the headers of Kubernetes; for another
 * authority flags name them.
 */
export function requestHeaderOf(
  config: AggregationFlags,
  files: CertificateFiles,
): RequestHeaderConfig | undefined {
  const { requestheaderClientCaFile: file } = config;
  const named = {
    allowedNames: config.requestheaderAllowedNames,
    usernameHeaders: config.requestheaderUsernameHeaders,
    uidHeaders: config.requestheaderUidHeaders,
    groupHeaders: config.requestheaderGroupHeaders,
    extraHeaderPrefixes: config.requestheaderExtraHeadersPrefix,
  };
  const ca = files.optional('requestheader-client-ca-file', file, 'front-proxy-ca.crt');
  if (ca === undefined) {
    if (Object.values(named).some((names = []) => names.length > 0)) {
      throw new UserError(
        'the --requestheader-… flags need --requestheader-client-ca-file: headers of front proxies must be proved',
      );
    }
    return undefined;
  }
  checkAuthority('--requestheader-client-ca-file', ca);
  for (const names of Object.values(named)) {
    if (names?.some((name) => name.trim() === '') === true)
      throw new UserError('a --requestheader-… flag has an empty name');
  }
  const defaults =
    file === undefined
      ? standardRequestHeader(ca)
      : {
          ca,
          allowedNames: [],
          usernameHeaders: [],
          uidHeaders: [],
          groupHeaders: [],
          extraHeaderPrefixes: [],
        };
  const given = Object.entries(named).filter(([, names]) => names !== undefined);
  return { ...defaults, ...Object.fromEntries(given) };
}
