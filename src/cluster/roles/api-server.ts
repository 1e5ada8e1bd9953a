// The role `cox apiserver`: an API server on an etcd that others may share.

import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { createTlsNodeConnector } from '../../apiserver/node-connector.ts';
import { type RuntimeConfig, RuntimeConfigError } from '../../apiserver/runtime-config.ts';
import { ApiServer } from '../../apiserver/server.ts';
import { keepRenewed } from '../certificate-renewal.ts';
import { localComponentHealth } from '../component-health.ts';
import { encryptStorage, readEncryptionFile } from '../encryption.ts';
import { parseServiceRanges } from '../network-ranges.ts';
import type { KeyPair } from '../pki.ts';
import { type EtcdConfig, openStorage } from '../stores.ts';
import { UserError } from '../user-error.ts';
import { KUBERNETES_VERSION } from '../version.ts';
import { readFlagFile, type RoleConfig, type RunningRole } from './role.ts';

export interface ApiServerRoleConfig extends RoleConfig {
  readonly etcd: EtcdConfig;
  /** Default: '0.0.0.0'. */
  readonly bindAddress?: string;
  /** 0: any that is free. Default: 6443. */
  readonly securePort?: number;
  /** By which pods and nodes reach this server. Default: the bind address, or the machine's first. */
  readonly advertiseAddress?: string;
  /** One range, or one of each family with a comma between them. Default: '10.96.0.0/16'. */
  readonly serviceClusterIpRange?: string;
  /** Default: '30000-32767'. */
  readonly serviceNodePortRange?: string;
  /** Where the files are that no flag names, under the names that `cox certs` gives them. */
  readonly certDir?: string;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly clientCaFile?: string;
  readonly kubeletClientCertificate?: string;
  readonly kubeletClientKey?: string;
  /** Default: the clients' authority. */
  readonly kubeletCertificateAuthority?: string;
  readonly serviceAccountSigningKeyFile?: string;
  /** Default: 'https://kubernetes.default.svc.cluster.local'. */
  readonly serviceAccountIssuer?: string;
  /** The longest lifetime of a token: between one hour and 2^32 seconds. A request for more gets this. Default: no limit. */
  readonly serviceAccountMaxTokenExpirationMs?: number;
  readonly encryptionProviderConfig?: string;
  /** Which groups, versions and resources are served. Default: stable versions. */
  readonly runtimeConfig?: RuntimeConfig;
  readonly disableAdmissionPlugins?: readonly string[];
  /** The flags of the command, by name and without dashes, for /flagz. Absent: there is no /flagz. */
  readonly flags?: Readonly<Record<string, string>>;
}

/** The files of the serving certificate are read again once per minute, as by kube-apiserver. */
const RELOAD_PERIOD_MS = 60_000;

export interface RunningApiServer extends RunningRole {
  readonly url: string;
}

/** Rejects with UserError for what can be mended; nothing is left running then. */
export async function startApiServerRole(config: ApiServerRoleConfig): Promise<RunningApiServer> {
  const { clock, random, logger, certDir } = config;
  const serviceCidr = config.serviceClusterIpRange ?? '10.96.0.0/16';
  parseServiceRanges('--service-cluster-ip-range', serviceCidr);
  if (config.etcd.servers.length === 0) {
    throw new UserError('an API server needs --etcd-servers, such as https://10.0.0.1:2379,https://10.0.0.2:2379');
  }
  const file = (flag: string, given: string | undefined, name: string): string => {
    const path = given ?? (certDir === undefined ? undefined : join(certDir, name));
    if (path === undefined) throw new UserError(`--${flag} is needed, or --cert-dir with the files of 'cox certs init' in it`);
    return readFlagFile(given === undefined ? `--cert-dir (for --${flag})` : `--${flag}`, resolve(path));
  };
  const tls = {
    cert: file('tls-cert-file', config.tlsCertFile, 'apiserver.crt'),
    key: file('tls-private-key-file', config.tlsPrivateKeyFile, 'apiserver.key'),
    clientCa: file('client-ca-file', config.clientCaFile, 'ca.crt'),
  };
  const nodeConnector = createTlsNodeConnector({
    clock,
    cert: file('kubelet-client-certificate', config.kubeletClientCertificate, 'apiserver-kubelet-client.crt'),
    key: file('kubelet-client-key', config.kubeletClientKey, 'apiserver-kubelet-client.key'),
    ca:
      config.kubeletCertificateAuthority === undefined
        ? tls.clientCa
        : readFlagFile('--kubelet-certificate-authority', config.kubeletCertificateAuthority),
  });
  const maxExpirationSeconds = maxTokenExpiration(config.serviceAccountMaxTokenExpirationMs);
  const signingKey = file('service-account-signing-key-file', config.serviceAccountSigningKeyFile, 'sa.key');
  const { encryptionProviderConfig } = config;
  const encryption = encryptionProviderConfig === undefined ? undefined : readEncryptionFile(resolve(encryptionProviderConfig));

  const opened = await openStorage({ choice: 'etcd', etcd: config.etcd, dir: '', clock, random, logger });
  const storage = encryption === undefined ? opened : encryptStorage(opened, encryption, random);
  let server: ApiServer | undefined;
  const reloading = new AbortController();
  const stop = async (): Promise<void> => {
    reloading.abort();
    await server?.stop();
    await storage.close();
  };
  try {
    server = new ApiServer({
      storage,
      clock,
      random: random.derive(`apiserver/${hostname()}`),
      logger: logger.with({ component: 'apiserver' }),
      serviceCidr,
      serviceNodePortRange: config.serviceNodePortRange,
      nodeConnector,
      componentHealth: localComponentHealth(clock),
      version: KUBERNETES_VERSION.gitVersion,
      serviceAccounts: {
        signingKey,
        issuer: config.serviceAccountIssuer,
        mountTokens: true,
        ...(maxExpirationSeconds !== undefined && { maxExpirationSeconds }),
      },
      tls,
      sharesStorage: true,
      bindAddress: config.bindAddress ?? '0.0.0.0',
      port: config.securePort,
      advertiseAddress: config.advertiseAddress,
      disableAdmissionPlugins: config.disableAdmissionPlugins,
      runtimeConfig: config.runtimeConfig,
      flags: config.flags,
    });
    const { url } = await server.listen();
    await server.start();
    const pair = (): KeyPair => ({
      cert: file('tls-cert-file', config.tlsCertFile, 'apiserver.crt'),
      key: file('tls-private-key-file', config.tlsPrivateKeyFile, 'apiserver.key'),
    });
    const use = (renewed: KeyPair): void => server?.setServingCertificate(renewed);
    const renewing = keepRenewed(
      { clock, logger, name: 'apiserver', current: tls, periodMs: RELOAD_PERIOD_MS, latest: pair, use },
      reloading.signal,
    );
    renewing.catch((err: unknown) => {
      if (!reloading.signal.aborted) logger.error('certificate renewal ended', { err });
    });
    let stopping: Promise<void> | undefined;
    return {
      url,
      description: `API server on ${url}`,
      failed: new Promise(() => undefined),
      stop: () => (stopping ??= stop()),
    };
  } catch (err) {
    await stop();
    throw asUserError(err, config);
  }
}

function maxTokenExpiration(ms: number | undefined): number | undefined {
  if (ms === undefined || ms === 0) return undefined;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 3600 || seconds > 2 ** 32) {
    throw new UserError('--service-account-max-token-expiration must be between 1 hour and 2^32 seconds');
  }
  return seconds;
}

function asUserError(err: unknown, { securePort = 6443, bindAddress = '0.0.0.0' }: ApiServerRoleConfig): unknown {
  const { code, message } = err as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new UserError(`port ${securePort} on ${bindAddress} is in use: see --secure-port`, { cause: err });
  if (code === 'EADDRNOTAVAIL')
    return new UserError(`${bindAddress} is no address of this machine: see --bind-address`, { cause: err });
  if (err instanceof RuntimeConfigError) return new UserError(`--runtime-config: ${message}`, { cause: err });
  return err instanceof RangeError ? new UserError(message, { cause: err }) : err;
}
