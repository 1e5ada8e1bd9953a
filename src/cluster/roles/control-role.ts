// What the controller manager and the scheduler have in common as roles: a kubeconfig, a port that says whether they are well, and
// one of them leading.

import { hostname } from 'node:os';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Client } from '../../client/client.ts';
import type { ServerAccess } from '../../client/http/index.ts';
import { type KeyPair, Pki } from '../pki.ts';
import { UserError } from '../user-error.ts';
import { startComponentServer } from './component-server.ts';
import { refusalOf } from './delegated-access.ts';
import { leading, type LeaderElectionSettings } from './leading.ts';
import { clientFor, readFlagFile, readKubeconfig, supervised, type RoleConfig, type RunningRole } from './role.ts';

export interface ControlRoleConfig extends RoleConfig {
  /** Who it is, and where the API server is. */
  readonly kubeconfig: string;
  /** Default: '127.0.0.1': only this machine reads health and metrics. */
  readonly bindAddress?: string;
  /** 0: any that is free. */
  readonly securePort?: number;
  /** Absent: a certificate that nobody has signed is made at each start. */
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly leaderElection?: LeaderElectionSettings;
}

export interface RunningControlRole extends RunningRole {
  readonly port: number;
  readonly identity: string;
  readonly isLeading: () => boolean;
}

export interface Work {
  readonly component: 'kube-controller-manager' | 'kube-scheduler';
  readonly defaultPort: number;
  /** What it tells of itself, in the form that Prometheus reads. Default: only whether it leads, and of its process. */
  readonly metrics?: () => string;
  /** Runs while this one leads. */
  run(client: Client, access: ServerAccess, signal: AbortSignal): Promise<void>;
}

/** Rejects with UserError for what can be mended. That the API server cannot be reached is none: it may come yet. */
export async function startControlRole(config: ControlRoleConfig, work: Work): Promise<RunningControlRole> {
  const { clock, random, logger, bindAddress = '127.0.0.1' } = config;
  const { component } = work;
  const access = await readKubeconfig('--kubeconfig', config.kubeconfig);
  const client = clientFor(access, component, config);
  const identity = `${hostname()}_${random.uuid()}`;
  const server = await startComponentServer({
    bindAddress,
    port: config.securePort ?? work.defaultPort,
    tls: await servingCertificate(config),
    logger,
    metrics: {
      text: () => metricsText(component, () => leads, work.metrics),
      access: (authorization) => refusalOf(client, authorization, '/metrics'),
    },
  });
  let leads = false;
  const running = supervised(component, (signal) =>
    leading(
      {
        client,
        clock,
        random,
        logger,
        component,
        identity,
        settings: config.leaderElection ?? {},
        work: (held) => work.run(client, access, held),
        onLeading: (now) => (leads = now),
      },
      signal,
    ),
  );
  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    await running.stop();
    await server.close();
  };
  return {
    port: server.port,
    identity,
    isLeading: () => leads,
    description: `${component} of ${access.server}, its health on port ${server.port}`,
    failed: running.failed,
    stop: () => (stopping ??= stop()),
  };
}

let processMetrics: Registry | undefined;

async function metricsText(component: string, leads: () => boolean, own: (() => string) | undefined): Promise<string> {
  if (processMetrics === undefined) {
    processMetrics = new Registry();
    collectDefaultMetrics({ register: processMetrics });
  }
  const leading =
    '# HELP leader_election_master_status Whether this one leads.\n# TYPE leader_election_master_status gauge\n' +
    `leader_election_master_status{name="${component}"} ${leads() ? 1 : 0}\n`;
  return leading + (own?.() ?? '') + (await processMetrics.metrics());
}

async function servingCertificate({ clock, random, tlsCertFile, tlsPrivateKeyFile }: ControlRoleConfig): Promise<KeyPair> {
  if ((tlsCertFile === undefined) !== (tlsPrivateKeyFile === undefined)) {
    throw new UserError('--tls-cert-file and --tls-private-key-file belong together: give both or neither');
  }
  if (tlsCertFile !== undefined && tlsPrivateKeyFile !== undefined) {
    return {
      cert: readFlagFile('--tls-cert-file', tlsCertFile),
      key: readFlagFile('--tls-private-key-file', tlsPrivateKeyFile),
    };
  }
  const pki = await Pki.open({ clock, random });
  return pki.sign({ commonName: hostname(), usage: 'server', hosts: [hostname(), 'localhost', '127.0.0.1'] });
}
