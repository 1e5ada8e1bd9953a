// `createCluster`: a durable cluster inside a program, with what `cox up` has: a data directory, a
// port, and real containers where the machine has a runtime.

import type { AccessOptions } from '../access/options.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger, type Logger } from '#machinery/log.ts';
import { readFileSync } from 'node:fs';
import { launch } from '../launch/launch.ts';
import { kubeconfigFor } from '../credentials/kubeconfig.ts';
import { makeHandle, type ClusterHandle } from './handle.ts';

/** The address and credentials of an etcd cluster. */
export interface EtcdOptions {
  /** URLs of members. */
  readonly servers: readonly string[];
  /** PEM files: the authority of etcd's certificates, and a client certificate with its key. */
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  /** The beginning of all keys. Default: '/registry'. */
  readonly prefix?: string;
}

export interface CreateClusterOptions {
  /** Data, certificates and logs. One process at a time uses a directory. */
  readonly dataDir: string;
  /** The API server's port; 0 picks a free one. Default: 6443. */
  readonly port?: number;
  /** The address that the API server listens on. Default: '127.0.0.1'. */
  readonly bindAddress?: string;
  /** Default: 'embedded', a database in the data directory. */
  readonly store?: 'embedded' | 'memory' | 'etcd';
  /** The etcd cluster of the store 'etcd'. */
  readonly etcd?: EtcdOptions;
  /**
   * The runtime of containers. 'auto': containerd where possible, otherwise host processes.
   * Default: 'simulated'.
   */
  readonly runtime?: 'auto' | 'containerd' | 'process' | 'simulated';
  /** The CRI socket of a runtime that runs already. Default: a private containerd. */
  readonly containerRuntimeEndpoint?: string;
  /** The nodes after the first are simulated. Default: 1. */
  readonly nodes?: number;
  readonly podCidr?: string;
  /** One range, or one for each IP family, separated by a comma. Default: '10.96.0.0/16'. */
  readonly serviceCidr?: string;
  /** Whether the cluster runs DNS. Default: with containerd, if its address and port are free. */
  readonly dns?: boolean;
  /** Default: 'cluster.local'. */
  readonly clusterDomain?: string;
  /** The served API versions. Default: stable ones. */
  readonly runtimeConfig?: Readonly<Record<string, string>>;
  /** The controllers to run: '*' all, 'foo' this one, '-foo' not this one. Default: all. */
  readonly controllers?: readonly string[];
  /** A KubeSchedulerConfiguration in YAML. */
  readonly schedulerConfig?: string;
  /**
   * The control of access: admission plugins, and the files of kube-apiserver (docs/access.md), which
   * are read again when they change. Default: Node and RBAC authorization, and the default admission
   * plugins.
   */
  readonly access?: AccessOptions;
  /** The file of an EncryptionConfiguration. Default: nothing is encrypted at rest. */
  readonly encryptionProviderConfig?: string;
  /** Whether missing programs of the runtime may be installed with apt-get. Default: false. */
  readonly install?: boolean;
  /** Default: nothing is logged. */
  readonly logger?: Logger;
  /** Called with each step of the start. */
  readonly onProgress?: (step: string, count?: string) => void;
  /** Aborts the start. */
  readonly signal?: AbortSignal;
}

/** A cluster of `createCluster`. */
export interface DurableCluster extends ClusterHandle {
  readonly url: string;
  readonly kubeconfig: string;
  /**
   * The file's path in the data directory. The file is rewritten when the certificate in it is
   * renewed.
   */
  readonly kubeconfigPath: string;
  /** Resolves with the reason if a component of the cluster or its store fails. */
  readonly failed: Promise<Error>;
  /** Idempotent. Data stays, and so do real containers, for the next start. */
  stop(): Promise<void>;
}

/**
 * Starts a cluster on a new or an existing data directory. Rejects with an error that names a
 * solution; then nothing runs.
 */
export async function createCluster(options: CreateClusterOptions): Promise<DurableCluster> {
  const {
    port = 6443,
    bindAddress = '127.0.0.1',
    store = 'embedded',
    runtime = 'simulated',
    nodes = 1,
  } = options;
  const {
    serviceCidr = '10.96.0.0/16',
    install = false,
    logger = silentLogger,
    onProgress,
    signal,
    ...rest
  } = options;
  const cluster = await launch({
    ...rest,
    securePort: port,
    bindAddress,
    store,
    runtime,
    nodes,
    serviceCidr,
    install,
    logger,
    progress: onProgress ?? (() => undefined),
    signal: signal ?? new AbortController().signal,
  });
  const handle = makeHandle({
    client: cluster.client,
    clock: systemClock,
    url: cluster.url,
    kubeconfig: kubeconfigFor(cluster.kubeconfigEntry),
    kubeconfigPath: cluster.kubeconfigPath,
    logger,
    connect: () => cluster.connect(),
    moving: (promise) => promise,
    stop: () => cluster.stop(),
  });
  return {
    ...handle,
    url: cluster.url,
    // Read again each time: the certificate in the file is renewed.
    get kubeconfig() {
      return readFileSync(cluster.kubeconfigPath, 'utf8');
    },
    kubeconfigPath: cluster.kubeconfigPath,
    failed: cluster.failed,
  };
}
