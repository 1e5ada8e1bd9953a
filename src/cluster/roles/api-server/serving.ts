// The certificates that the server presents, and the authority of its clients.

import { hostname } from 'node:os';
import type { ApiServerConfig } from '#apiserver/config.ts';
import type { ServingTls } from '#apiserver/http/serving-tls.ts';
import { advertisedAddress } from '#apiserver/own-endpoints.ts';
import type { KeyPair } from '../../credentials/pki.ts';
import { checkAuthority, checkKeyPair } from '../../flags/flag-files.ts';
import { tlsSettings } from '../tls-flags.ts';
import type { ApiServerRoleConfig } from './config.ts';
import type { CertificateFiles } from './files.ts';
import { parseSniCertKey, readNamed } from './sni-flags.ts';

export interface Serving {
  readonly tls: NonNullable<ApiServerConfig['tls']>;
  /** Reads all files again: some may have been replaced. Throws UserError. */
  readonly latest: () => Omit<ServingTls, 'requestHeaderCa'>;
}

/**
 * Reads the certificates, or makes one if there is none. `serviceAddress`: the cluster IP of the
 * Service `kubernetes`. Throws UserError.
 */
export async function servingOf(
  config: ApiServerRoleConfig,
  files: CertificateFiles,
  serviceAddress: string,
): Promise<Serving> {
  const { clock, random, tlsSniCertKey = [] } = config;
  const readClientCa = (): string | undefined => {
    const text = files.optional('client-ca-file', config.clientCaFile, 'ca.crt');
    if (text !== undefined) checkAuthority('--client-ca-file', text);
    return text;
  };
  const clientCa = readClientCa();
  const read = (): KeyPair | undefined =>
    files.pair(
      { cert: 'tls-cert-file', key: 'tls-private-key-file' },
      { cert: config.tlsCertFile, key: config.tlsPrivateKeyFile },
      'apiserver',
    );
  const pair =
    read() ?? (await files.makeServing(servingHosts(config, serviceAddress), clock, random));
  checkKeyPair('--tls-cert-file, --tls-private-key-file', pair);
  const sniFiles = tlsSniCertKey.map(parseSniCertKey);
  const named = readNamed(sniFiles, pair.cert);
  return {
    tls: {
      ...pair,
      clientCa,
      ...(named.length > 0 && { named }),
      ...tlsSettings(config),
    },
    latest: () => {
      const current = read() ?? pair;
      return {
        ...current,
        clientCa: clientCa === undefined ? undefined : readClientCa(),
        named: named.length > 0 ? readNamed(sniFiles, current.cert) : undefined,
      };
    },
  };
}

/** Returns the names and addresses of a certificate that the server makes for itself. */
function servingHosts(
  { bindAddress, advertiseAddress }: ApiServerRoleConfig,
  serviceAddress: string,
): readonly string[] {
  const addresses = [
    bindAddress,
    advertiseAddress,
    advertisedAddress(bindAddress ?? '0.0.0.0'),
    serviceAddress,
  ];
  const names = [
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
    hostname(),
  ];
  const usable = addresses.flatMap((address) =>
    address === undefined || /^(0\.0\.0\.0|::)$/.test(address) ? [] : [address],
  );
  return ['localhost', '127.0.0.1', ...names, ...usable];
}
