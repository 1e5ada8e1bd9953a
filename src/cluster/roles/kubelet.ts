// The role `cox kubelet`: this machine as a node of a cluster.

import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { formatYamlLazily } from '#api/machinery/codec/format-yaml-lazily.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { parseIp } from '#machinery/net/ip.ts';
import { isDNS1123Subdomain } from '#machinery/validation/validation.ts';
import { Kubelet } from '#kubelet/kubelet.ts';
import { PolicyOptionError } from '#kubelet/resource-managers/cpu/options.ts';
import { TopologyOptionError } from '#kubelet/resource-managers/hints/options.ts';
import { ResourceStateError } from '#kubelet/resource-managers/resource-managers.ts';
import type { AccessSettings, AuthorizationMode } from '#kubelet/server/access.ts';
import { TlsListeners } from '#kubelet/server/listeners.ts';
import {
  keepIptablesHint,
  NodePolicies,
  POD_NETWORK_PERMISSIONS,
  type PodNetworkMode,
  runPodNetwork,
} from '#network/index.ts';
import { claimDataDir, dataDirLayout } from '../data-dir/data-dir.ts';
import { policyTableOf, removePolicies } from '../nodes/policy-table.ts';
import { keepRenewed, RELOAD_PERIOD_MS } from '../credentials/certificate-renewal.ts';
import type { KeyPair } from '../credentials/pki.ts';
import { SYSTEM_LOGS_DIR } from '../nodes/cluster-node.ts';
import { parsePodRanges } from '../nodes/pod-network.ts';
import {
  type PreparedRuntime,
  prepareRuntime,
  type RuntimeChoice,
} from '../runtimes/prepare-runtime.ts';
import { simulatedMachine } from '../nodes/simulated-machine.ts';
import { UserError } from '../user-error.ts';
import { KUBERNETES_VERSION } from '../version.ts';
import { type CredentialPluginOptions, credentialPlugins } from './kubelet/credential-plugins.ts';
import { kubeletClient, type KubeletClient } from './kubelet/certificates/client.ts';
import {
  requestedServing,
  selfSignedServing,
  servingFiles,
} from './kubelet/certificates/serving.ts';
import { HEALTHZ_ADDRESS, HEALTHZ_PORT, serveKubeletHealth } from './kubelet/health.ts';
import { type NodeResourceOptions, resourceSettings } from './kubelet/node-resources.ts';
import { clientFor, type RoleConfig, type RunningRole, supervised } from './role.ts';
import { checkAuthority, readFlagFile, readKubeconfig } from '../flags/flag-files.ts';
import { tlsSettings } from './tls-flags.ts';

const NETWORK_POLICY = 'network-policy';
const PORT = 10_250;
const ROTATION_OFF = /(^|,)\s*RotateKubeletServerCertificate=false\s*(,|$)/i;
const AUTHORIZATION_MODES: readonly AuthorizationMode[] = ['Webhook', 'AlwaysAllow'];

export interface KubeletRoleConfig
  extends RoleConfig, NodeResourceOptions, CredentialPluginOptions {
  /** The kubeconfig with the address of the API server and the credentials of `system:node:NAME`. */
  readonly kubeconfig: string;
  /** See KubeletClientConfig. */
  readonly bootstrapKubeconfig?: string;
  readonly rotateCertificates?: boolean;
  /** Whether the serving certificate is requested from the API. Default: false. */
  readonly rotateServerCertificates?: boolean;
  /** The directory of the runtime's state. */
  readonly dataDir: string;
  /** Default: in the data directory. */
  readonly rootDir?: string;
  /** The node's name. Default: the machine's. */
  readonly hostnameOverride?: string;
  readonly runtime: RuntimeChoice;
  readonly containerRuntimeEndpoint?: string;
  /** Whether missing programs may be installed. */
  readonly install: boolean;
  /** The address of the kubelet's own server. Default: '0.0.0.0', port 10250. */
  readonly address?: string;
  readonly port?: number;
  /** Where /healthz is served without TLS. Default: '127.0.0.1', port 10248; port 0: nowhere. */
  readonly healthzBindAddress?: string;
  readonly healthzPort?: number;
  /**
   * The directory of files that no flag names (their names are those of `cox certs`), and of issued
   * certificates. Default for the latter: `pki` in the root directory.
   */
  readonly certDir?: string;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly clientCaFile?: string;
  /** Upstream's names: 'VersionTLS13', 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256'. */
  readonly tlsMinVersion?: string;
  readonly tlsCipherSuites?: readonly string[];
  /** Numbers of TLS, such as 29 for X25519. */
  readonly tlsCurvePreferences?: readonly number[];
  /** See AccessSettings. Durations are milliseconds; 0 is the default, as in upstream's KubeletConfiguration. */
  readonly authenticationTokenWebhook?: boolean;
  readonly authenticationTokenWebhookCacheTtl?: number;
  readonly authorizationMode?: AuthorizationMode;
  readonly authorizationWebhookCacheAuthorizedTtl?: number;
  readonly authorizationWebhookCacheUnauthorizedTtl?: number;
  /**
   * Addresses of its pods: one range, or one of each family. Default: the node's ranges, or those
   * from the controller manager.
   */
  readonly podCidr?: string;
  /** See PodNetworkFlags. */
  readonly podNetwork?: PodNetworkMode;
  readonly vxlanId?: number;
  readonly vxlanPort?: number;
  /** The directory of drivers of FlexVolumes. Default: upstream's. */
  readonly volumePluginDir?: string;
  /** Whether KUBE-IPTABLES-HINT is made where pods have a network of their own. Default: true. */
  readonly makeIptablesUtilChains?: boolean;
  /** Addresses of all pods, one range or one of each family: other nodes cannot have any outside. Default: unknown. */
  readonly clusterCidr?: string;
  /** Default: the machine's addresses. */
  readonly nodeIp?: string;
  /** 'external': see KubeletConfig.externalCloudProvider. */
  readonly cloudProvider?: 'external';
  readonly nodeLabels?: Readonly<Record<string, string>>;
  readonly maxPods?: number;
  readonly podManifestPath?: string;
  readonly clusterDns?: readonly string[];
  readonly clusterDomain?: string;
  /**
   * Identity that may read all pods, namespaces and network policies. Absent: policies are not
   * enforced for the pods of this node.
   */
  readonly networkPolicyKubeconfig?: string;
  /** 'Name=true,…'. */
  readonly featureGates?: string;
  /** The flags of the command, by name and without dashes, for /flagz. Absent: there is no /flagz. */
  readonly flags?: Readonly<Record<string, string>>;
  readonly progress: (text: string) => void;
  /** Aborts the start. */
  readonly signal: AbortSignal;
}

export interface RunningKubelet extends RunningRole {
  readonly port: number;
}

/** Rejects with UserError for what can be mended; nothing is left running then. Containers go on when it stops. */
export async function startKubeletRole(config: KubeletRoleConfig): Promise<RunningKubelet> {
  const { clock, random, logger, progress, signal } = config;
  const nodeName = config.hostnameOverride ?? hostname().toLowerCase();
  if (isDNS1123Subdomain(nodeName).length > 0) {
    throw new UserError(
      `${JSON.stringify(nodeName)} is no name of a node: give another with --hostname-override`,
    );
  }
  if (config.nodeIp !== undefined && parseIp(config.nodeIp) === undefined) {
    throw new UserError(`--node-ip takes an address, such as 10.0.0.7, not '${config.nodeIp}'`);
  }
  const podCidrs = config.podCidr === undefined ? [] : parsePodRanges('--pod-cidr', config.podCidr);
  const clusterCidrs =
    config.clusterCidr === undefined ? [] : parsePodRanges('--cluster-cidr', config.clusterCidr);
  const file = (flag: string, given: string | undefined, name: string): string => {
    const path = given ?? (config.certDir === undefined ? undefined : join(config.certDir, name));
    if (path === undefined)
      throw new UserError(
        `--${flag} is needed, or --cert-dir with the files of 'cox certs node' in it`,
      );
    return readFlagFile(given === undefined ? `--cert-dir (for --${flag})` : `--${flag}`, path);
  };
  if (!AUTHORIZATION_MODES.includes(config.authorizationMode ?? 'Webhook')) {
    throw new UserError(
      `unknown authorization mode ${JSON.stringify(config.authorizationMode)}: it is Webhook or AlwaysAllow`,
    );
  }
  const resources = resourceSettings(config, config.featureGates);
  const plugins = credentialPlugins(config);
  if (resources.cgroupRoot !== undefined && config.runtime === 'simulated')
    throw new UserError('--cgroup-root needs real containers: not --runtime simulated');
  const readServing = (): KeyPair => ({
    cert: file('tls-cert-file', config.tlsCertFile, `kubelet-${nodeName}.crt`),
    key: file('tls-private-key-file', config.tlsPrivateKeyFile, `kubelet-${nodeName}.key`),
  });
  const isRequested = config.rotateServerCertificates === true;
  if (isRequested && ROTATION_OFF.test(config.featureGates ?? ''))
    throw new UserError(
      'invalid configuration: serverTLSBootstrap true requires feature gate ' +
        'RotateKubeletServerCertificate',
    );
  const fromFiles =
    isRequested || !hasServingFiles(config, nodeName)
      ? undefined
      : servingFiles(config, readServing);
  const readClientCa = (): string => {
    const text = file('client-ca-file', config.clientCaFile, 'ca.crt');
    checkAuthority('--client-ca-file', text);
    return text;
  };
  const tls = {
    clientCA: readClientCa(),
    ...tlsSettings(config),
  };
  const policyClient =
    config.networkPolicyKubeconfig === undefined
      ? undefined
      : clientFor(
          await readKubeconfig('--network-policy-kubeconfig', config.networkPolicyKubeconfig),
          NETWORK_POLICY,
          config,
        );
  const layout = dataDirLayout(config.dataDir);
  const rootDir = config.rootDir === undefined ? layout.kubelet : resolve(config.rootDir);
  const certDir = config.certDir === undefined ? join(rootDir, 'pki') : resolve(config.certDir);
  const release = await claimDataDir(layout);
  let runtime: PreparedRuntime | undefined;
  let kubelet: Kubelet | undefined;
  let network: Pick<RunningRole, 'failed' | 'stop'> | undefined;
  let policies: Pick<RunningRole, 'failed' | 'stop'> | undefined;
  let identity: KubeletClient | undefined;
  let servingRenewal: Pick<RunningRole, 'failed' | 'stop'> | undefined;
  let authorityRenewal: Pick<RunningRole, 'failed' | 'stop'> | undefined;
  let hint: Pick<RunningRole, 'failed' | 'stop'> | undefined;
  const health = startHealth(config);
  const stop = async (): Promise<void> => {
    await health?.stop();
    await hint?.stop();
    await servingRenewal?.stop();
    await authorityRenewal?.stop();
    await network?.stop();
    await kubelet?.stop();
    await policies?.stop();
    await identity?.rotation?.stop();
    await runtime?.runtime.close();
    await runtime?.stop();
    release();
  };
  try {
    if (config.bootstrapKubeconfig !== undefined) progress('getting a certificate');
    identity = await kubeletClient({ ...config, nodeName, certDir });
    const { client } = identity;
    const serving =
      fromFiles ??
      (isRequested
        ? requestedServing({ ...config, nodeName, client, certDir })
        : await selfSignedServing({ ...config, nodeName, certDir }));
    runtime = await prepareRuntime({
      choice: config.runtime,
      ...(config.containerRuntimeEndpoint !== undefined && {
        endpoint: config.containerRuntimeEndpoint,
      }),
      install: config.install,
      podCidrs,
      podNetwork: {
        ...(config.podNetwork !== undefined && { podNetwork: config.podNetwork }),
        ...(config.vxlanId !== undefined && { vxlanId: config.vxlanId }),
        ...(config.vxlanPort !== undefined && { vxlanPort: config.vxlanPort }),
        clusterCidrs,
        serviceCidrs: [],
      },
      layout,
      clock,
      random,
      logger,
      progress,
      signal,
    });
    if (resources.resourceManagers !== undefined && !runtime.hasCgroups) {
      throw new UserError(
        'CPU, memory and topology managers need containers in cgroups: --runtime containerd, or ' +
          '--container-runtime-endpoint',
      );
    }
    progress('registering the node');
    const { simulated, description } = runtime;
    let networkReadiness: NodePolicies | undefined;
    if (policyClient !== undefined && runtime.podNetwork) {
      const settings = policyTableOf(layout, podCidrs, runtime.proxy?.bridge);
      const agent = new NodePolicies({
        client: policyClient,
        nodeName,
        settings,
        clock,
        random,
        logger,
      });
      policies = supervised(NETWORK_POLICY, (signal) => agent.run(signal));
      networkReadiness = agent;
    } else if (runtime.podNetwork) {
      await removePolicies(layout);
      logger.warn('network policies: not enforced on this node', {
        reason: 'there is no --network-policy-kubeconfig',
      });
    }
    const listeners = new TlsListeners({
      tls: { ...tls, ...serving.initial },
      isCertificateUsable: serving.isUsable,
      host: config.address ?? '0.0.0.0',
      logger,
    });
    kubelet = new Kubelet({
      client,
      runtime: runtime.runtime,
      clock,
      random,
      logger,
      nodeName,
      podCIDRs: podCidrs,
      kubeletVersion: KUBERNETES_VERSION.gitVersion,
      rootDir,
      podLogsDir: config.podLogsDir === undefined ? layout.logs : resolve(config.podLogsDir),
      ...(!simulated &&
        config.enableSystemLogHandler !== false && { systemLogsDir: SYSTEM_LOGS_DIR }),
      ...(config.volumePluginDir !== undefined && {
        flexVolumeDir: resolve(config.volumePluginDir),
      }),
      ...resources,
      // Pulls of simulated containers ask no registry.
      ...(simulated && config.registryQps === undefined && { pullRate: undefined }),
      ...(plugins !== undefined && { credentialPlugins: plugins }),
      hostFiles: !simulated,
      podNetwork: !simulated,
      ...(networkReadiness !== undefined && { networkReadiness }),
      ...(simulated && { machine: simulatedMachine(nodeName) }),
      ...(config.nodeIp !== undefined && {
        addresses: [
          { type: 'InternalIP', address: config.nodeIp },
          { type: 'Hostname', address: nodeName },
        ],
      }),
      externalCloudProvider: config.cloudProvider === 'external',
      labels: config.nodeLabels,
      maxPods: config.maxPods,
      staticPodPath: config.podManifestPath,
      // Without an address, pods that ask for the cluster's DNS get a warning, as upstream.
      clusterDNS: config.clusterDns ?? [],
      clusterDomain: config.clusterDomain,
      access: accessSettings(config),
      requestedCertificates: {
        client: config.rotateCertificates === true,
        serving: isRequested,
      },
      onAddresses: serving.onAddresses,
      otherMetrics: () => (identity?.metrics() ?? '') + serving.metrics(),
      flags: config.flags,
      server: {
        port: config.port ?? PORT,
        listeners,
      },
    });
    // The kubelet waits for the API server without a limit, but ends at a signal.
    const giveUp = (): void => void kubelet?.stop();
    signal.throwIfAborted();
    signal.addEventListener('abort', giveUp, { once: true });
    servingRenewal = serving.start(listeners);
    authorityRenewal = supervised('authority of clients', (signal) =>
      keepRenewed(
        {
          clock,
          logger,
          name: 'authority of clients',
          current: tls.clientCA,
          periodMs: RELOAD_PERIOD_MS,
          latest: readClientCa,
          use: (authority) => listeners.setClientAuthority(authority),
        },
        signal,
      ),
    );
    await kubelet.start();
    signal.removeEventListener('abort', giveUp);
    signal.throwIfAborted();
    const running = kubelet;
    if (runtime.podNetwork && config.makeIptablesUtilChains !== false)
      hint = supervised('iptables-hint', (until) => keepIptablesHint({ clock, logger }, until));
    const { network: podNetwork } = runtime;
    if (podNetwork !== undefined) {
      const onChange = (): void => running.checkNode();
      const agent = {
        ...podNetwork,
        client,
        nodeName,
        clock,
        random: random.derive('pod-network'),
        logger,
        onChange,
      };
      network = supervised('pod-network', (until) => runPodNetwork(agent, until));
    }
    const { port } = kubelet;
    let stopping: Promise<void> | undefined;
    return {
      port,
      description: `node ${nodeName} (${description}), its server on port ${port}`,
      failed: Promise.race(
        [
          network,
          policies,
          servingRenewal,
          authorityRenewal,
          identity.rotation,
          health,
          hint,
        ].flatMap((agent) => (agent === undefined ? [] : [agent.failed])),
      ),
      stop: () => (stopping ??= stop()),
    };
  } catch (error) {
    await stop();
    throw asUserError(error, config);
  }
}

/** Health is served from the first moment on: programs that start a kubelet wait for it. */
function startHealth({
  healthzPort: port = HEALTHZ_PORT,
  healthzBindAddress: address = HEALTHZ_ADDRESS,
  clock,
  logger,
}: KubeletRoleConfig): Pick<RunningRole, 'failed' | 'stop'> | undefined {
  if (port === 0) return undefined;
  return supervised('healthz', (signal) =>
    serveKubeletHealth({ address, port, clock, logger }, signal),
  );
}

/** Reports whether flags name the serving certificate, or `--cert-dir` has one for this node. */
function hasServingFiles(
  { tlsCertFile, tlsPrivateKeyFile, certDir }: KubeletRoleConfig,
  nodeName: string,
): boolean {
  if (tlsCertFile !== undefined || tlsPrivateKeyFile !== undefined) return true;
  return (
    certDir !== undefined &&
    ['crt', 'key'].some((end) => existsSync(join(certDir, `kubelet-${nodeName}.${end}`)))
  );
}

function accessSettings(config: KubeletRoleConfig): Partial<AccessSettings> {
  const tokenTtlMs = config.authenticationTokenWebhookCacheTtl ?? 0;
  const authorizedTtlMs = config.authorizationWebhookCacheAuthorizedTtl ?? 0;
  const unauthorizedTtlMs = config.authorizationWebhookCacheUnauthorizedTtl ?? 0;
  return {
    ...(config.authenticationTokenWebhook !== undefined && {
      tokenWebhook: config.authenticationTokenWebhook,
    }),
    ...(config.authorizationMode !== undefined && { authorizationMode: config.authorizationMode }),
    ...(tokenTtlMs > 0 && { tokenTtlMs }),
    ...(authorizedTtlMs > 0 && { authorizedTtlMs }),
    ...(unauthorizedTtlMs > 0 && { unauthorizedTtlMs }),
  };
}

/**
 * Returns the objects that allow nodes to do what this role does beyond upstream's, as YAML for an
 * administrator to apply.
 */
export async function podNetworkPermissionsYaml(): Promise<string> {
  const { clusterRole, clusterRoleBinding } = POD_NETWORK_PERMISSIONS;
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const objects = [
    { apiVersion, kind: 'ClusterRole', ...clusterRole },
    { apiVersion, kind: 'ClusterRoleBinding', ...clusterRoleBinding },
  ];
  return (await Promise.all(objects.map((object) => formatYamlLazily(object)))).join('---\n');
}

function asUserError(
  err: unknown,
  { port = PORT, address = '0.0.0.0' }: KubeletRoleConfig,
): unknown {
  const { code, message } = err as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new UserError(`port ${port} on ${address} is in use: see --port`, { cause: err });
  if (code === 'EADDRNOTAVAIL')
    return new UserError(`${address} is no address of this machine: see --address`, { cause: err });
  if (
    err instanceof PolicyOptionError ||
    err instanceof TopologyOptionError ||
    err instanceof ResourceStateError
  )
    return new UserError(message, { cause: err });
  if (apierrors.isServiceUnavailable(err))
    return new UserError(`the API server cannot be reached: ${message}`, { cause: err });
  return err;
}
