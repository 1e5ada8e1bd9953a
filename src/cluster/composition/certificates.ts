// The certificates of a cluster that listens, and their renewal while it runs.

import { networkInterfaces } from 'node:os';
import type { RequestHeaderConfig } from '#apiserver/authentication/request-header.ts';
import type { ClusterConfig } from './cluster-config.ts';
import { keepRenewed, RENEWAL_PERIOD_MS } from '../credentials/certificate-renewal.ts';
import { type FrontProxy, openFrontProxy } from '../credentials/front-proxy.ts';
import type { KeyPair, Pki } from '../credentials/pki.ts';
import { firstServiceAddress, parseServiceRanges } from '../flags/network-ranges.ts';
import { kubeletCertificate } from '../nodes/kubelet-ports.ts';

type Config = Pick<
  ClusterConfig,
  'clock' | 'logger' | 'pki' | 'kubeletPorts' | 'dns' | 'clusterDomain' | 'serviceCidr'
>;

/** Called with renewed certificates. */
export interface CertificateUses {
  /** Called before it is looked whether anything has to be renewed. */
  readonly onPeriod: () => void;
  readonly onServing: (pair: KeyPair) => void;
  readonly onProxyClient: () => void;
  readonly onKubelet: (pair: KeyPair) => void;
}

export class ClusterCertificates {
  readonly #config: Config;
  readonly #bindAddress: string;
  readonly #frontProxy: FrontProxy;
  #proxyClient: KeyPair;
  /** The API server starts with it. */
  readonly serving: KeyPair;

  /** Makes the certificates for an API server at the address, or reads them. */
  static async open(config: Config, bindAddress: string): Promise<ClusterCertificates> {
    const serving = await servingCertificate(config, bindAddress);
    const frontProxy = await openFrontProxy(pkiOf(config));
    const proxyClient = await frontProxy.certificate();
    return new ClusterCertificates(config, { bindAddress, serving, frontProxy, proxyClient });
  }

  private constructor(
    config: Config,
    opened: {
      readonly bindAddress: string;
      readonly serving: KeyPair;
      readonly frontProxy: FrontProxy;
      readonly proxyClient: KeyPair;
    },
  ) {
    this.#config = config;
    this.#bindAddress = opened.bindAddress;
    this.serving = opened.serving;
    this.#frontProxy = opened.frontProxy;
    this.#proxyClient = opened.proxyClient;
  }

  /** PEM: the authority of clients. */
  get clientCa(): string {
    return pkiOf(this.#config).caCertificate;
  }

  get requestHeader(): RequestHeaderConfig {
    return this.#frontProxy.requestHeader;
  }

  /** The client certificate that the API server presents to other API servers. */
  get proxyClient(): KeyPair {
    return this.#proxyClient;
  }

  /** Renews all of them, until the signal aborts. */
  keepRenewed(uses: CertificateUses, signal: AbortSignal): void {
    const keep = (
      name: string,
      current: KeyPair,
      latest: () => Promise<KeyPair>,
      use: (pair: KeyPair) => void,
    ): void => {
      const { clock, logger } = this.#config;
      const periodMs = RENEWAL_PERIOD_MS;
      void keepRenewed({ clock, logger, name, current, periodMs, latest, use }, signal);
    };
    const latestServing = (): Promise<KeyPair> => {
      uses.onPeriod();
      return servingCertificate(this.#config, this.#bindAddress);
    };
    keep('apiserver', this.serving, latestServing, uses.onServing);
    keep(
      'front-proxy-client',
      this.#proxyClient,
      () => this.#frontProxy.certificate(),
      (pair) => {
        this.#proxyClient = pair;
        uses.onProxyClient();
      },
    );
    const { kubeletPorts } = this.#config;
    if (kubeletPorts === undefined) return;
    const { tls, names } = kubeletPorts;
    keep(
      'kubelet',
      { cert: String(tls.cert), key: String(tls.key) },
      () => kubeletCertificate(pkiOf(this.#config), this.#bindAddress, names),
      uses.onKubelet,
    );
  }
}

function pkiOf({ pki }: Config): Pki {
  if (pki === undefined) throw new TypeError('a cluster that listens needs a pki');
  return pki;
}

async function servingCertificate(config: Config, bindAddress: string): Promise<KeyPair> {
  const hosts = new Set([
    'localhost',
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    `kubernetes.default.svc.${config.dns?.clusterDomain ?? config.clusterDomain ?? 'cluster.local'}`,
    '127.0.0.1',
    firstServiceAddress(parseServiceRanges('--service-cidr', config.serviceCidr)),
    ...(bindAddress === '0.0.0.0' || bindAddress === '::' ? machineAddresses() : [bindAddress]),
  ]);
  return pkiOf(config).certificate('apiserver', {
    commonName: 'kube-apiserver',
    usage: 'server',
    hosts: [...hosts],
  });
}

/** Returns all addresses of this machine by which others may reach it. */
function machineAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) =>
    (list ?? [])
      .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
      .map(({ address }) => address),
  );
}
