// The role `cox controller-manager`.

import { join } from 'node:path';
import {
  ControllerManager,
  ControllerManagerMetrics,
  type ControllerName,
  type ControllerNeeds,
  selectControllers,
  UnknownControllerError,
} from '#controllers/index.ts';
import { type HealthCheck, pingCheck } from '#machinery/serving/health.ts';
import { parseCidr } from '#machinery/net/ip.ts';
import { tokenSigner } from '#machinery/token-keys.ts';
import { checkLoadBalancerPool, parseServiceRanges } from '../flags/network-ranges.ts';
import { UserError } from '../user-error.ts';
import {
  startControlRole,
  type ControlRoleConfig,
  type RunningControlRole,
} from './control-role.ts';
import { checkKeys } from './api-server/files.ts';
import { checkAuthority, readFlagFile } from '../flags/flag-files.ts';
import { type RecyclerFlags, readRecyclerFlags } from './recycler-flags.ts';
import { serviceAccountClients } from './service-account-clients.ts';

const COMPONENT = 'kube-controller-manager';
const PORT = 10_257;

export interface ControllerManagerRoleConfig extends ControlRoleConfig, RecyclerFlags {
  /** The controllers to run: '*', 'foo', '-foo'. Default: '*'. */
  readonly controllers?: readonly string[];
  /**
   * The directory of files that no flag names; their names are those of `cox certs`. Absent: there
   * are none.
   */
  readonly certDir?: string;
  /** Without it Secrets that ask for a token of an account get none. */
  readonly serviceAccountPrivateKeyFile?: string;
  /** Without it the root CA is not published. */
  readonly rootCaFile?: string;
  /** The authority that signs approved requests; both or neither. Without it they are not signed. */
  readonly clusterSigningCertFile?: string;
  readonly clusterSigningKeyFile?: string;
  /** The longest lifetime of a signed certificate. Default: 365 days. */
  readonly clusterSigningDuration?: number;
  /** Without it nodes get no ranges of pod addresses. */
  readonly clusterCidr?: string;
  /** Addresses for services of type LoadBalancer. Default: nodes' addresses. */
  readonly loadBalancerPool?: string;
  /** Addresses that nodes get none of. */
  readonly serviceClusterIpRange?: string;
  /**
   * Whether each controller has an account of its own, with the rights of its role. False: all use
   * the kubeconfig's user. Default: true.
   */
  readonly useServiceAccountCredentials?: boolean;
}

export async function startControllerManagerRole(
  config: ControllerManagerRoleConfig,
): Promise<RunningControlRole> {
  const { clock, random, certDir } = config;
  const { controllers, serviceClusterIpRange, clusterCidr } = config;
  const selected = controllers === undefined ? undefined : selectedControllers(controllers);
  if (serviceClusterIpRange !== undefined)
    parseServiceRanges('--service-cluster-ip-range', serviceClusterIpRange);
  const pool =
    config.loadBalancerPool === undefined
      ? undefined
      : checkLoadBalancerPool(config.loadBalancerPool, [
          ...(clusterCidr?.split(',') ?? []),
          ...(serviceClusterIpRange?.split(',') ?? []),
        ]);
  const file = (flag: string, given: string | undefined, name: string): string | undefined => {
    if (given !== undefined) return readFlagFile(`--${flag}`, given);
    return certDir === undefined
      ? undefined
      : readFlagFile(`--cert-dir (for --${flag})`, join(certDir, name));
  };
  const serviceAccountKey = file(
    'service-account-private-key-file',
    config.serviceAccountPrivateKeyFile,
    'sa.key',
  );
  if (serviceAccountKey !== undefined) {
    checkKeys('--service-account-private-key-file', () => tokenSigner(serviceAccountKey));
  }
  const rootCa = file('root-ca-file', config.rootCaFile, 'ca.crt');
  if (rootCa !== undefined) checkAuthority('--root-ca-file', rootCa);
  for (const cidr of clusterCidr?.split(',') ?? []) {
    if (parseCidr(cidr) !== undefined) continue;
    throw new UserError(
      `--cluster-cidr takes a range, such as 10.244.0.0/16, or one of each IP family, not '${cidr.slice(0, 80)}'`,
    );
  }
  const signing = readSigning(config);
  const recycler = readRecyclerFlags(config);
  const logger = config.logger.with({ component: 'controller-manager' });
  const metrics = new ControllerManagerMetrics({ clock });
  return startControlRole(
    { ...config, logger },
    {
      component: COMPONENT,
      defaultPort: PORT,
      metrics: () => metrics.text(),
      // Upstream has /healthz alone; the others are for probes that ask every component alike.
      health: ({ leaderElection }) => ({
        '/healthz': () => [...leaderElection, ...runningChecks(metrics)],
        '/livez': () => [pingCheck],
        '/readyz': () => [pingCheck],
      }),
      async run(client, access, signal) {
        const manager = new ControllerManager({
          client,
          ...(config.useServiceAccountCredentials !== false && {
            clientOf: serviceAccountClients(client, access, COMPONENT, { clock, random, logger }),
          }),
          clock,
          random,
          logger,
          controllers: selected,
          metrics,
          serviceAccountKey,
          signing,
          rootCa,
          clusterCidrs: clusterCidr?.split(','),
          settings: {
            'node-ipam': { serviceCidrs: serviceClusterIpRange?.split(',') },
            'service-lb': { pool },
            'persistentvolume-binder': { recycler },
          },
        });
        await manager.run(signal);
      },
    },
  );
}

/**
 * Each controller that runs is a check that passes, as upstream lists them; without any, whether
 * the process answers.
 */
function runningChecks(metrics: ControllerManagerMetrics): readonly HealthCheck[] {
  const { running } = metrics;
  return running.length === 0
    ? [pingCheck]
    : running.map((name) => ({ name, check: () => undefined }));
}

function readSigning({
  clusterSigningCertFile: cert,
  clusterSigningKeyFile: key,
  clusterSigningDuration: maxDurationMs,
}: ControllerManagerRoleConfig): ControllerNeeds['signing'] {
  if ((cert === undefined) !== (key === undefined)) {
    throw new UserError(
      '--cluster-signing-cert-file and --cluster-signing-key-file belong together: give both or neither',
    );
  }
  if (cert === undefined || key === undefined) return undefined;
  const authority = {
    cert: readFlagFile('--cluster-signing-cert-file', cert),
    key: readFlagFile('--cluster-signing-key-file', key),
  };
  return { authority, maxDurationMs };
}

/** Returns the controllers that `--controllers` selects. Throws UserError for unknown names. */
export function selectedControllers(selectors: readonly string[]): readonly ControllerName[] {
  try {
    return selectControllers(selectors);
  } catch (error) {
    if (error instanceof UnknownControllerError)
      throw new UserError(`--controllers: ${error.message}`, { cause: error });
    throw error;
  }
}
