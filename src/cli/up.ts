// `cox up`: starts a cluster, reports when it is ready, runs until a signal, and stops the cluster
// cleanly.

import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { createStderrLogger } from '#machinery/line-writer.ts';
import type { LogLevel } from '#machinery/log.ts';
import { systemClock } from '#machinery/clock.ts';
import { printableJson } from '#machinery/text/printable.ts';
import type { AccessFlags } from '#cluster/access/index.ts';
import { dataDirLayout } from '#cluster/data-dir/data-dir.ts';
import { UncaughtErrors } from '#cluster/faults/index.ts';
import { mergeKubeconfig } from '#cluster/credentials/kubeconfig.ts';
import type { IngressRequest } from '#cluster/addons/prepare-ingress.ts';
import { UserError } from '#cluster/user-error.ts';
import {
  type EtcdConfig,
  launch,
  type LaunchConfig,
  type LaunchedCluster,
  type RuntimeChoice,
  type StoreChoice,
} from '#cluster/launch/launch.ts';
import type { AuditFlags } from '#cluster/audit/audit-flags.ts';
import type { OidcFlags } from '#cluster/access/oidc.ts';
import type { Build } from './build.ts';
import { keepCompiledOnce } from './keep-compiled.ts';
import { typed } from './own-command.ts';
import { type WorkerFlags, workersOf } from './worker-flags.ts';
import { keepLogSmall } from './rotate-log.ts';
import { coloursFor, progressLine, shortest, stopSignal } from './terminal.ts';

export interface UpOptions extends AccessFlags, AuditFlags, OidcFlags, WorkerFlags {
  readonly dataDir: string;
  readonly securePort: number;
  readonly console: boolean;
  readonly bind: string;
  readonly kubeconfig?: string;
  readonly mergeKubeconfig?: boolean;
  readonly store: StoreChoice;
  readonly etcdServers?: readonly string[];
  readonly etcdCafile?: string;
  readonly etcdCertfile?: string;
  readonly etcdKeyfile?: string;
  readonly etcdPrefix?: string;
  readonly encryptionProviderConfig?: string;
  readonly encryptionProviderConfigAutomaticReload?: boolean;
  readonly runtime: RuntimeChoice;
  readonly containerRuntimeEndpoint?: string;
  readonly images?: string;
  readonly nodes: number;
  readonly podCidr?: string;
  readonly podNetwork?: LaunchConfig['podNetwork'];
  readonly vxlanId?: number;
  readonly vxlanPort?: number;
  readonly serviceCidr: string;
  readonly loadBalancerPool?: string;
  readonly runtimeConfig?: Readonly<Record<string, string>>;
  readonly controllers?: readonly string[];
  readonly dns?: boolean;
  readonly networkPolicy: boolean;
  readonly clusterDomain?: string;
  readonly ingress?: boolean;
  readonly csiDriver?: boolean;
  readonly ingressAddress?: readonly string[];
  readonly ingressHttpPort?: number;
  readonly ingressHttpsPort?: number;
  readonly ingressTrustedProxies?: readonly string[];
  readonly ingressAccessLog?: boolean;
  readonly gatewayAddresses?: readonly string[];
  readonly rootDir?: string;
  readonly evictionHard?: Readonly<Record<string, string>>;
  readonly cgroupRoot?: string;
  readonly schedulerConfig?: string;
  readonly install: boolean;
  readonly detach?: boolean;
  readonly quiet?: boolean;
  readonly output?: 'json';
  readonly logFormat: 'text' | 'json';
  readonly verbose: boolean;
}

/** The message of a detached cluster to the process that started it. */
type DetachMessage =
  | { readonly ready: string }
  | { readonly failed: string; readonly exitCode: number };

export async function up(options: UpOptions, build?: Build): Promise<void> {
  if (options.detach) return detach(options);
  const progress = progressLine(options.quiet === true);
  const level: LogLevel = options.verbose ? 'debug' : 'warn';
  // A log in a file is read days later.
  const dated = process.env[DETACHED_VARIABLE] !== undefined;
  const logging = { format: options.logFormat, level, dated };
  const apiWorkers = workersOf(options, logging);
  const logger = createStderrLogger({ ...logging, clock: systemClock });

  const rotation = dated
    ? keepLogSmall({ file: dataDirLayout(options.dataDir).logFile, clock: systemClock, logger })
    : undefined;
  const stop = stopSignal();
  const faults = new UncaughtErrors({
    clock: systemClock,
    logger,
    onFatal: (error) => fatal(error),
  });
  let fatal!: (error: Error) => void;
  const fatalError = new Promise<Error>((resolveError) => (fatal = resolveError));
  faults.install();
  let cluster: LaunchedCluster;
  try {
    cluster = await launch({
      dataDir: options.dataDir,
      securePort: options.securePort,
      bindAddress: options.bind,
      kubeconfig: options.kubeconfig,
      store: options.store,
      etcd: etcdConfig(options),
      encryptionProviderConfig: options.encryptionProviderConfig,
      encryptionProviderConfigAutomaticReload: options.encryptionProviderConfigAutomaticReload,
      runtime: options.runtime,
      containerRuntimeEndpoint: options.containerRuntimeEndpoint,
      images: options.images,
      nodes: options.nodes,
      podCidr: options.podCidr,
      podNetwork: options.podNetwork,
      vxlanId: options.vxlanId,
      vxlanPort: options.vxlanPort,
      serviceCidr: options.serviceCidr,
      loadBalancerPool: options.loadBalancerPool,
      runtimeConfig: options.runtimeConfig,
      controllers: options.controllers,
      dns: options.dns,
      networkPolicy: options.networkPolicy,
      clusterDomain: options.clusterDomain,
      ingress: ingressRequest(options),
      csiDriver: options.csiDriver,
      rootDir: options.rootDir,
      evictionHard: options.evictionHard,
      cgroupRoot: options.cgroupRoot,
      console: options.console,
      oidc: options,
      audit: options,
      access: options,
      schedulerConfig:
        options.schedulerConfig === undefined
          ? undefined
          : readSchedulerConfig(options.schedulerConfig),
      install: options.install,
      ...(apiWorkers !== undefined && { apiWorkers }),
      logger,
      faults,
      logging,
      progress: (step, count) => progress.show(step, count),
      signal: stop.signal,
    });
  } catch (error) {
    progress.clear();
    if (stop.signal.aborted) return;
    if (error instanceof UserError)
      await tellParent({ failed: error.message, exitCode: error.exitCode });
    throw error;
  }
  progress.clear();

  try {
    if (options.mergeKubeconfig) mergeKubeconfig(userKubeconfigPath(), cluster.kubeconfigEntry);
    const text = readyText(cluster, options);
    process.stdout.write(text);
    await tellParent({ ready: text });
    const reason = await Promise.race([stop.requested, cluster.failed, fatalError]);
    if (reason instanceof Error)
      throw new UserError(`the cluster stopped: ${reason.message}`, { cause: reason });
    if (!options.quiet) process.stderr.write(`\nstopping … (${reason}; again to stop at once)\n`);
  } finally {
    await cluster.stop();
    rotation?.cancel();
  }
  keepCompiledOnce(build, logger);
  // Handles of libraries that keep a process alive must not keep this one: everything that matters has been closed.
  process.exit(process.exitCode ?? 0);
}

function readyText(cluster: LaunchedCluster, options: UpOptions): string {
  // Since the process began: the time that a person waited, the loading of the program included.
  const elapsed = process.uptime().toFixed(2);
  if (options.output === 'json') return readyJson(cluster, options, Number(elapsed));
  const ready = `cluster ready in ${elapsed} s\n`;
  if (options.quiet) return ready;
  const shown = shortest(cluster.kubeconfigPath);
  const rows: readonly (readonly [string, string])[] = [
    ['API server', cluster.url],
    ['runtime', cluster.runtimeDescription],
    ['nodes', cluster.nodesDescription],
    ['store', storeText(options)],
    ['kubeconfig', shown],
  ];
  const next = options.mergeKubeconfig
    ? 'kubectl get nodes'
    : `export KUBECONFIG=${shown.startsWith('/') ? shown : `$PWD/${shown}`} && kubectl get nodes`;
  const { dim } = coloursFor(process.stdout);
  return (
    ready +
    rows.map(([name, value]) => `  ${dim(name.padEnd(11))} ${value}\n`).join('') +
    `next: ${next}\n`
  );
}

function readyJson(cluster: LaunchedCluster, options: UpOptions, seconds: number): string {
  const value = {
    seconds,
    server: cluster.url,
    kubeconfig: cluster.kubeconfigPath,
    dataDir: dataDirLayout(options.dataDir).root,
    pid: process.pid,
    runtime: cluster.runtimeDescription,
    nodes: cluster.nodesDescription,
    store: options.store,
  };
  return `${printableJson(value, 2)}\n`;
}

function storeText(options: UpOptions): string {
  switch (options.store) {
    case 'embedded':
      return `embedded, in ${shortest(dataDirLayout(options.dataDir).store)}`;
    case 'memory':
      return 'memory: gone when the cluster stops';
    case 'etcd':
      return `etcd, ${(options.etcdServers ?? []).join(', ')}`;
  }
}

function etcdConfig(options: UpOptions): EtcdConfig | undefined {
  const { etcdServers, etcdCafile, etcdCertfile, etcdKeyfile, etcdPrefix } = options;
  const given = [etcdServers, etcdCafile, etcdCertfile, etcdKeyfile, etcdPrefix].some(
    (each) => each !== undefined,
  );
  if (options.store !== 'etcd') {
    if (given) throw new UserError('the --etcd-… flags are for --store etcd');
    return undefined;
  }
  return {
    servers: etcdServers ?? [],
    caFile: etcdCafile,
    certFile: etcdCertfile,
    keyFile: etcdKeyfile,
    prefix: etcdPrefix,
  };
}

function ingressRequest(options: UpOptions): IngressRequest | undefined {
  const {
    ingressAddress,
    ingressHttpPort,
    ingressHttpsPort,
    ingressTrustedProxies,
    ingressAccessLog,
    gatewayAddresses,
  } = options;
  if (options.ingress !== true) {
    const values = {
      '--ingress-address': ingressAddress,
      '--ingress-http-port': ingressHttpPort,
      '--ingress-https-port': ingressHttpsPort,
      '--ingress-trusted-proxies': ingressTrustedProxies,
      '--ingress-access-log': ingressAccessLog,
      '--gateway-addresses': gatewayAddresses,
    };
    const given = Object.entries(values).find(([, value]) => value !== undefined);
    if (given !== undefined) throw new UserError(`${given[0]} needs --ingress`);
    return undefined;
  }
  return {
    httpPort: ingressHttpPort ?? 80,
    httpsPort: ingressHttpsPort ?? 443,
    accessLog: ingressAccessLog ?? false,
    ...(ingressAddress !== undefined && { addresses: ingressAddress }),
    ...(ingressTrustedProxies !== undefined && { trustedProxies: ingressTrustedProxies }),
    ...(gatewayAddresses !== undefined && { gatewayAddresses }),
  };
}

function userKubeconfigPath(): string {
  const [first] = (process.env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  return first ?? join(homedir(), '.kube', 'config');
}

function readSchedulerConfig(path: string): string {
  if (!existsSync(path)) throw new UserError(`--scheduler-config: there is no file ${path}`);
  return readFileSync(path, 'utf8');
}

/**
 * Set for the process that runs the cluster in the background. Other parents may have a channel to
 * this process, too.
 */
const DETACHED_VARIABLE = 'COXSWAIN_DETACHED';

async function tellParent(message: DetachMessage): Promise<void> {
  if (process.send === undefined || process.env[DETACHED_VARIABLE] === undefined) return;
  await new Promise<void>((sent) => process.send?.(message, () => sent()));
  process.disconnect();
}

/** Starts the same command in the background, waits until it is ready, and prints its messages. */
async function detach(options: UpOptions): Promise<void> {
  const layout = dataDirLayout(options.dataDir);
  mkdirSync(layout.root, { recursive: true, mode: 0o700 });
  const log = openSync(layout.logFile, 'a', 0o600);
  const args = process.argv.slice(1).filter((arg) => arg !== '--detach');
  const child = spawn(
    process.execPath,
    [...process.execArgv, resolve(args[0] as string), ...args.slice(1)],
    {
      detached: true,
      stdio: ['ignore', log, log, 'ipc'],
      env: { ...process.env, NO_COLOR: '1', [DETACHED_VARIABLE]: '1' },
    },
  );
  closeSync(log);
  const message = await new Promise<DetachMessage>((resolveMessage) => {
    child.once('message', (received) => resolveMessage(received as DetachMessage));
    child.once('error', (err) => resolveMessage({ failed: err.message, exitCode: 1 }));
    child.once('exit', (code) =>
      resolveMessage({
        failed: `it ended with status ${code ?? 'unknown'}; see ${layout.logFile}`,
        exitCode: 1,
      }),
    );
  });
  child.unref();
  if (child.connected) child.disconnect();
  if ('failed' in message) throw new UserError(message.failed, { exitCode: message.exitCode });
  process.stdout.write(message.ready);
  if (!options.quiet && options.output !== 'json')
    process.stdout.write(typed(`stop it with: cox down --data-dir ${shortest(layout.root)}\n`));
}
