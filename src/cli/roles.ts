// The roles as processes: started from their flags, until a signal or until something ends that should not.

import { createStderrLogger } from '#machinery/line-writer.ts';
import type { Logger, LoggerConfig, LogLevel } from '#machinery/log.ts';
import { systemClock } from '#machinery/clock.ts';
import { systemRandom } from '#machinery/random.ts';
import { startApiServerRole, type ApiServerRoleConfig } from '#cluster/roles/api-server.ts';
import {
  startControllerManagerRole,
  type ControllerManagerRoleConfig,
} from '#cluster/roles/controller-manager.ts';
import {
  csiPermissionsYaml,
  type CsiDriverRoleConfig,
  startCsiDriverRole,
} from '#cluster/roles/csi-driver.ts';
import type { LeaderElectionSettings } from '#cluster/components/leading.ts';
import { startCorefileRole } from '#cluster/roles/dns-corefile.ts';
import { dnsPermissionsYaml, startDnsRole, type DnsRoleConfig } from '#cluster/roles/dns.ts';
import {
  ingressPermissionsYaml,
  type IngressRoleConfig,
  startIngressRole,
} from '#cluster/roles/ingress.ts';
import {
  podNetworkPermissionsYaml,
  startKubeletRole,
  type KubeletRoleConfig,
} from '#cluster/roles/kubelet.ts';
import {
  type KubeletConfiguration,
  readKubeletConfigurations,
} from '#cluster/roles/kubelet/configuration.ts';
import { CleanedUp, startProxyRole, type ProxyRoleConfig } from '#cluster/roles/proxy.ts';
import type { RoleConfig, RunningRole } from '#cluster/roles/role.ts';
import { type RuntimeRoleConfig, startRuntimeRole } from '#cluster/roles/runtime.ts';
import { startSchedulerRole, type SchedulerRoleConfig } from '#cluster/roles/scheduler.ts';
import { withoutSecrets } from '#cluster/roles/kubelet/static-pod-options.ts';
import { UncaughtErrors } from '#cluster/faults/index.ts';
import { giveMemoryBack } from '#cluster/nodes/memory-at-rest.ts';
import { UserError } from '#cluster/user-error.ts';
import { flagValues } from './flag-values.ts';
import { nameProcess } from './process-name.ts';
import { checkFeatureGates } from './upstream/feature-gates.ts';
import { progressLine, stopSignal } from './terminal.ts';
import { type WorkerFlags, workersOf } from './worker-flags.ts';

/** The time that an aborted start has to clean up. */
const GIVE_UP_MS = 5000;

/** Flags that every role has. */
interface CommonOptions {
  readonly logFormat: 'text' | 'json';
  readonly loggingFormat?: 'text' | 'json';
  readonly verbose: boolean;
  readonly v: number;
  readonly featureGates?: string;
}

interface EtcdOptions {
  readonly etcdServers?: readonly string[];
  readonly etcdCafile?: string;
  readonly etcdCertfile?: string;
  readonly etcdKeyfile?: string;
  readonly etcdPrefix?: string;
}

interface ElectionOptions {
  readonly leaderElect: boolean;
  readonly leaderElectLeaseDuration: number;
  readonly leaderElectRenewDeadline: number;
  readonly leaderElectRetryPeriod: number;
  readonly leaderElectResourceName: string;
  readonly leaderElectResourceNamespace: string;
}

type Given<T> = Omit<T, keyof RoleConfig>;

export async function apiServer(
  options: CommonOptions & EtcdOptions & WorkerFlags & Omit<Given<ApiServerRoleConfig>, 'etcd'>,
): Promise<void> {
  const workers = workersOf(options, loggingOf(options));
  const {
    etcdServers: servers = [],
    etcdCafile: caFile,
    etcdCertfile: certFile,
    etcdKeyfile: keyFile,
    etcdPrefix: prefix,
  } = options;
  const etcd = { servers, caFile, certFile, keyFile, prefix };
  // Requests do not depend on each other, so the server goes on after an error in one of them.
  await run('kube-apiserver', options, (role, progress, _signal, faults) => {
    faults.install();
    if (options.store !== 'memory' && servers.length > 0)
      progress(`connecting to etcd at ${servers.join(', ')}`);
    return startApiServerRole({
      ...options,
      ...role,
      etcd,
      ...(workers !== undefined && { workers }),
      flags: flagValues(options),
      otherMetrics: () => faults.metrics(),
    });
  });
}

export async function controllerManager(
  options: CommonOptions & ElectionOptions & Given<ControllerManagerRoleConfig>,
): Promise<void> {
  await run('kube-controller-manager', options, (role, _progress, _signal, faults) => {
    endAfterUncaught(faults);
    return startControllerManagerRole({
      ...options,
      ...role,
      leaderElection: electionOf(options),
      flags: flagValues(options),
    });
  });
}

export async function scheduler(
  options: CommonOptions & ElectionOptions & Given<SchedulerRoleConfig>,
): Promise<void> {
  await run('kube-scheduler', options, (role, _progress, _signal, faults) => {
    endAfterUncaught(faults);
    return startSchedulerRole({
      ...options,
      ...role,
      leaderElection: electionOf(options),
      flags: flagValues(options),
    });
  });
}

export async function proxy(options: CommonOptions & Given<ProxyRoleConfig>): Promise<void> {
  await run('kube-proxy', options, (role, _progress, _signal, faults) => {
    endAfterUncaught(faults);
    return startProxyRole({ ...options, ...role });
  });
}

export async function kubelet(
  options: CommonOptions &
    Omit<Given<KubeletRoleConfig>, 'progress' | 'signal' | 'kubeconfig'> & {
      readonly kubeconfig?: string;
      readonly config?: string;
      readonly configDir?: string;
      readonly printPermissions?: boolean;
    },
): Promise<void> {
  if (options.printPermissions === true) {
    process.stdout.write(await podNetworkPermissionsYaml());
    return;
  }
  const { kubeconfig } = options;
  if (kubeconfig === undefined)
    throw new UserError(
      '--kubeconfig is needed: identity of the node, and address of the API server',
    );
  const { options: inFile, warnings }: KubeletConfiguration = readKubeletConfigurations(
    options.config,
    options.configDir,
  );
  for (const warning of warnings) process.stderr.write(`cox: warning: ${warning}\n`);
  const { featureGates = {}, ...others } = inFile;
  const gates = [
    ...Object.entries(featureGates).map(([name, on]) => `${name}=${on}`),
    options.featureGates ?? '',
  ].join(',');
  const merged = { ...others, ...options, featureGates: gates };
  await run('kubelet', merged, async (role, progress, signal, faults) => {
    endAfterUncaught(faults);
    const { description, failed, stop } = await startKubeletRole({
      ...merged,
      ...role,
      kubeconfig,
      progress,
      signal,
      flags: flagValues(withoutSecrets(merged)),
    });
    const keepMemory = giveMemoryBack(systemClock, role.logger);
    return {
      description,
      failed,
      async stop() {
        keepMemory();
        await stop();
      },
    };
  });
}

export async function dns(
  options: CommonOptions &
    Partial<Given<DnsRoleConfig>> &
    Pick<DnsRoleConfig, 'bindAddress' | 'port'> & {
      readonly printPermissions?: boolean;
      readonly corefile?: string;
    },
): Promise<void> {
  if (options.printPermissions === true) {
    process.stdout.write(await dnsPermissionsYaml());
    return;
  }
  const { kubeconfig, corefile, allowedClients } = options;
  if (corefile !== undefined) {
    await run('cox-dns', options, (role, _progress, _signal, faults) => {
      endAfterUncaught(faults);
      return startCorefileRole({
        ...role,
        corefile,
        ...(kubeconfig !== undefined && { kubeconfig }),
        ...(allowedClients !== undefined && { allowedClients }),
        onQueryLine: (line) => void process.stdout.write(line),
      });
    });
    return;
  }
  if (kubeconfig === undefined)
    throw new UserError('--kubeconfig is needed: who the server is, and where the API server is');
  await run('cox-dns', options, (role, _progress, _signal, faults) => {
    endAfterUncaught(faults);
    return startDnsRole({ ...options, ...role, kubeconfig });
  });
}

export async function runtime(options: CommonOptions & Given<RuntimeRoleConfig>): Promise<void> {
  // Calls do not depend on each other, so the server goes on after an error in one of them.
  await run('cox-runtime', options, (role, _progress, _signal, faults) => {
    faults.install();
    return startRuntimeRole({ ...options, ...role });
  });
}

export async function csiDriver(
  options: CommonOptions &
    Partial<Given<CsiDriverRoleConfig>> &
    Pick<CsiDriverRoleConfig, 'rootDir' | 'volumesDir'> & { readonly printPermissions?: boolean },
): Promise<void> {
  if (options.printPermissions === true) {
    process.stdout.write(await csiPermissionsYaml());
    return;
  }
  const { kubeconfig } = options;
  if (kubeconfig === undefined)
    throw new UserError(
      '--kubeconfig is needed: who the controllers are, and where the API server is',
    );
  await run('cox-csi-driver', options, (role, _progress, _signal, faults) => {
    endAfterUncaught(faults);
    return startCsiDriverRole({ ...options, ...role, kubeconfig });
  });
}

export async function ingress(
  options: CommonOptions &
    Partial<Given<IngressRoleConfig>> &
    Pick<IngressRoleConfig, 'httpPort' | 'httpsPort' | 'updateStatus'> & {
      readonly bindAddress?: readonly string[];
      readonly printPermissions?: boolean;
    },
): Promise<void> {
  if (options.printPermissions === true) {
    process.stdout.write(await ingressPermissionsYaml());
    return;
  }
  const { kubeconfig, bindAddress } = options;
  if (kubeconfig === undefined)
    throw new UserError(
      '--kubeconfig is needed: who the controller is, and where the API server is',
    );
  await run('cox-ingress', options, (role, _progress, _signal, faults) => {
    endAfterUncaught(faults);
    return startIngressRole({
      ...options,
      ...role,
      kubeconfig,
      ...(bindAddress !== undefined && { addresses: bindAddress }),
    });
  });
}

function electionOf(options: ElectionOptions): LeaderElectionSettings {
  const {
    leaderElectLeaseDuration: lease,
    leaderElectRenewDeadline: renew,
    leaderElectRetryPeriod: retry,
  } = options;
  if (lease % 1000 !== 0) throw new UserError('--leader-elect-lease-duration takes whole seconds');
  if (lease <= renew)
    throw new UserError(
      '--leader-elect-lease-duration must be more than --leader-elect-renew-deadline',
    );
  if (renew <= retry * 1.2)
    throw new UserError(
      '--leader-elect-renew-deadline must be more than 1.2 times --leader-elect-retry-period',
    );
  return {
    leaderElect: options.leaderElect,
    leaseDurationMs: lease,
    renewDeadlineMs: renew,
    retryPeriodMs: retry,
    resourceName: options.leaderElectResourceName,
    resourceNamespace: options.leaderElectResourceNamespace,
  };
}

/** Rejects when an aborted start has cleaned up, or has taken too long. Never resolves. */
async function stoppedWhile(starting: Promise<RunningRole>, signal: AbortSignal): Promise<never> {
  await new Promise<void>((resolve) =>
    signal.addEventListener('abort', () => resolve(), { once: true }),
  );
  const role = await Promise.race([starting, systemClock.sleep(GIVE_UP_MS)]);
  await role?.stop();
  throw signal.reason;
}

/** From this level on, Kubernetes' components log details of their work. */
const DEBUG_LEVEL = 4;

const levelOf = (v: number): LogLevel => (v >= DEBUG_LEVEL ? 'debug' : v > 0 ? 'info' : 'warn');

type Start = (
  role: RoleConfig,
  progress: (text: string) => void,
  signal: AbortSignal,
  faults: UncaughtErrors,
) => Promise<RunningRole>;

/**
 * Logs an uncaught error and ends the process, as upstream's components do: the role is one
 * component, and the parent process is responsible for its restart. Another candidate takes the
 * lease; containers run on.
 */
function endAfterUncaught(faults: UncaughtErrors): void {
  const end = (error: unknown): void => {
    faults.report('role', error);
    process.exit(1);
  };
  process.on('uncaughtException', end);
  process.on('unhandledRejection', end);
}

/** Returns the settings of the loggers of this process, and of processes that belong to it. */
function loggingOf({
  logFormat,
  loggingFormat = logFormat,
  verbose,
  v,
}: CommonOptions): Pick<LoggerConfig, 'format' | 'level'> {
  return { format: loggingFormat, level: levelOf(verbose ? 4 : v) };
}

/** `name`: how the process is called, as in upstream where it has the component. */
async function run(name: string, options: CommonOptions, start: Start): Promise<void> {
  for (const warning of checkFeatureGates(options.featureGates ?? ''))
    process.stderr.write(`cox: warning: ${warning}\n`);
  const logger: Logger = createStderrLogger({ ...loggingOf(options), clock: systemClock });
  nameProcess(name, logger);
  const progress = progressLine(false);
  const stop = stopSignal();
  let fatal!: (error: Error) => void;
  const fatalError = new Promise<Error>((resolve) => (fatal = resolve));
  const faults = new UncaughtErrors({
    clock: systemClock,
    logger,
    onFatal: (error) => fatal(error),
  });
  let role: RunningRole;
  try {
    const starting = start(
      { clock: systemClock, random: systemRandom, logger },
      (text) => progress.show(text),
      stop.signal,
      faults,
    );
    role = await Promise.race([starting, stoppedWhile(starting, stop.signal)]);
  } catch (error) {
    progress.clear();
    // There may be what does not end by itself.
    if (stop.signal.aborted) process.exit(1);
    throw error;
  }
  progress.clear();
  try {
    process.stdout.write(`ready: ${role.description}\n`);
    const reason = await Promise.race([stop.requested, role.failed, fatalError]);
    if (reason instanceof CleanedUp) return;
    if (reason instanceof Error) throw new UserError(reason.message, { cause: reason });
    process.stderr.write(`\nstopping … (${reason}; again to stop at once)\n`);
  } finally {
    await role.stop();
  }
  process.exit(process.exitCode ?? 0);
}
