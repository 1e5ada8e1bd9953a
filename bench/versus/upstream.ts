// Upstream's side: etcd, kube-apiserver, kube-controller-manager and kube-scheduler as processes of
// their own, with their defaults. The limits of their clients (50 requests per second by default)
// are lifted, since they are not what is compared.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { join } from 'node:path';
import { writeKubeconfig } from '#cluster/credentials/kubeconfig.ts';
import { Pki, type KeyPair } from '#cluster/credentials/pki.ts';
import { systemClock } from '#machinery/clock.ts';
import { freePorts } from '#machinery/net/testing/free-ports.ts';
import { systemRandom } from '#machinery/random.ts';
import { endedWithRun, temporaryDirectory } from '../clean-up.ts';
import type { Programs } from './programs.ts';
import type { RunningSide, Side } from './side.ts';

const CLIENT_LIMITS = ['--kube-api-qps=10000', '--kube-api-burst=10000'];
const READY_TIMEOUT_MS = 120_000;
const POLL_MS = 5;

export function upstreamSide(programs: Programs): Side {
  return { name: 'upstream', start: () => start(programs) };
}

/**
 * The files that the programs read. They are made before the measured time: our side makes its own
 * while it starts.
 */
interface Files {
  readonly dir: string;
  readonly admin: KeyPair;
  readonly ca: string;
  path(name: string): string;
}

async function start(programs: Programs): Promise<RunningSide> {
  const [etcdPort = 0, peerPort = 0, apiPort = 0, controllerPort = 0, schedulerPort = 0] =
    await freePorts(5);
  const files = await makeFiles(apiPort);
  const children = new Map<string, ChildProcess>();
  const stop = async (): Promise<void> => {
    for (const child of [...children.values()].reverse()) await end(child);
    rmSync(files.dir, { recursive: true, force: true });
  };
  const run = (name: string, program: string, args: readonly string[]): void => {
    const log = openSync(files.path(`${name}.log`), 'a');
    children.set(name, endedWithRun(spawn(program, args, { stdio: ['ignore', log, log] })));
  };
  const began = systemClock.monotonic();
  try {
    const etcdUrl = `http://127.0.0.1:${etcdPort}`;
    run('etcd', programs.etcd, etcdFlags(files, etcdUrl, `http://127.0.0.1:${peerPort}`));
    run('kube-apiserver', programs.apiServer, apiServerFlags(files, etcdUrl, apiPort));
    run(
      'kube-controller-manager',
      programs.controllerManager,
      controllerManagerFlags(files, controllerPort),
    );
    run('kube-scheduler', programs.scheduler, [
      `--kubeconfig=${files.path('scheduler.conf')}`,
      `--secure-port=${schedulerPort}`,
      '--leader-elect=false',
      ...CLIENT_LIMITS,
    ]);
    await untilReady(files, apiPort, children);
    const readyMs = systemClock.monotonic() - began;
    const pids = Object.fromEntries([...children].map(([name, { pid }]) => [name, pid ?? 0]));
    return {
      target: { host: '127.0.0.1', port: apiPort, ca: files.ca, ...files.admin },
      readyMs,
      pids,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const etcdFlags = (files: Files, clientUrl: string, peerUrl: string): string[] => [
  `--data-dir=${files.path('etcd')}`,
  `--listen-client-urls=${clientUrl}`,
  `--advertise-client-urls=${clientUrl}`,
  `--listen-peer-urls=${peerUrl}`,
  `--initial-advertise-peer-urls=${peerUrl}`,
  `--initial-cluster=default=${peerUrl}`,
];

const apiServerFlags = (files: Files, etcdUrl: string, port: number): string[] => [
  `--etcd-servers=${etcdUrl}`,
  '--bind-address=127.0.0.1',
  '--advertise-address=127.0.0.1',
  `--secure-port=${port}`,
  `--tls-cert-file=${files.path('apiserver.crt')}`,
  `--tls-private-key-file=${files.path('apiserver.key')}`,
  `--client-ca-file=${files.path('ca.crt')}`,
  '--authorization-mode=Node,RBAC',
  '--enable-admission-plugins=NodeRestriction',
  '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
  `--service-account-key-file=${files.path('sa.pub')}`,
  `--service-account-signing-key-file=${files.path('sa.key')}`,
  '--service-cluster-ip-range=10.96.0.0/16',
];

const controllerManagerFlags = (files: Files, port: number): string[] => [
  `--kubeconfig=${files.path('controller-manager.conf')}`,
  `--secure-port=${port}`,
  '--leader-elect=false',
  '--use-service-account-credentials=true',
  `--service-account-private-key-file=${files.path('sa.key')}`,
  `--root-ca-file=${files.path('ca.crt')}`,
  ...CLIENT_LIMITS,
];

async function makeFiles(apiPort: number): Promise<Files> {
  const dir = temporaryDirectory('coxswain-versus-');
  const path = (name: string): string => join(dir, name);
  const pki = await Pki.open({ clock: systemClock, random: systemRandom });
  const serving = await pki.sign({
    commonName: 'kube-apiserver',
    usage: 'server',
    hosts: ['127.0.0.1', 'kubernetes.default.svc'],
  });
  const admin = await pki.sign({
    commonName: 'admin',
    organizations: ['system:masters'],
    usage: 'client',
  });
  const { privateKey, publicKey } = pki.serviceAccountKeys();
  mkdirSync(path('etcd'), { mode: 0o700 });
  const contents = {
    'ca.crt': pki.caCertificate,
    'apiserver.crt': serving.cert,
    'apiserver.key': serving.key,
    'sa.key': privateKey,
    'sa.pub': publicKey,
  };
  for (const [name, text] of Object.entries(contents))
    writeFileSync(path(name), text, { mode: 0o600 });
  for (const user of ['controller-manager', 'scheduler']) {
    const { cert, key } = await pki.sign({ commonName: `system:kube-${user}`, usage: 'client' });
    writeKubeconfig(path(`${user}.conf`), {
      name: user,
      server: `https://127.0.0.1:${apiPort}`,
      caCertificate: pki.caCertificate,
      clientCertificate: cert,
      clientKey: key,
    });
  }
  return { dir, admin, ca: pki.caCertificate, path };
}

/**
 * Resolves when /readyz answers 200. Rejects, with the end of the log, when a program ends or the
 * time is up.
 */
async function untilReady(
  files: Files,
  port: number,
  children: ReadonlyMap<string, ChildProcess>,
): Promise<void> {
  const agent = new Agent({
    ca: files.ca,
    cert: files.admin.cert,
    key: files.admin.key,
    keepAlive: true,
  });
  const deadline = systemClock.monotonic() + READY_TIMEOUT_MS;
  try {
    while ((await status(agent, port)) !== 200) {
      const ended = [...children].find(
        ([, { exitCode, signalCode }]) => exitCode !== null || signalCode !== null,
      )?.[0];
      // The other programs wait for the API server, and end if it takes too long.
      if (ended !== undefined || systemClock.monotonic() > deadline) {
        const name = ended ?? 'kube-apiserver';
        throw new Error(
          `${name} did not get ready:\n${readFileSync(files.path(`${name}.log`), 'utf8').slice(-2000)}`,
        );
      }
      await systemClock.sleep(POLL_MS);
    }
  } finally {
    agent.destroy();
  }
}

/** Returns the status of /readyz; 0 if no server answers. */
function status(agent: Agent, port: number): Promise<number> {
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, path: '/readyz', agent }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode ?? 0));
    });
    request.once('error', () => resolve(0));
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}
