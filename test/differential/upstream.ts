// Upstream's API server on an etcd, both built of their Go modules: the reference of `--upstream`.

import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UserError } from '#cluster/user-error.ts';
import { systemClock } from '#machinery/clock.ts';
import { freePorts } from '#machinery/net/testing/free-ports.ts';
import { systemRandom } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import { ensureCommand, ensureEtcd } from '../conformance/binaries.ts';
import { Remote } from './remote.ts';

const READY_TIMEOUT_MS = 180_000;
const POLL_MS = 200;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface Upstream {
  readonly url: string;
  /** A token of an administrator. */
  readonly token: string;
  stop(): Promise<void>;
}

export interface UpstreamOptions {
  /** An etcd that is there already. Default: the server has one of its own. */
  readonly etcdUrl?: string;
  /** Flags of the API server beside the others, which they replace. Default: none. */
  readonly flags?: Readonly<Record<string, string>>;
}

/**
 * Resolves when the server is ready. Throws a UserError, with the end of the log, if a program
 * cannot be built, or ends.
 */
export async function startUpstream(
  progress: (text: string) => void,
  { etcdUrl: given, flags = {} }: UpstreamOptions = {},
): Promise<Upstream> {
  const apiServer = ensureCommand('kube-apiserver', progress);
  const dir = mkdtempSync(join(tmpdir(), 'coxswain-differential-'));
  const path = (name: string): string => join(dir, name);
  const [client = 0, peer = 0, secure = 0] = await freePorts(3);
  const token = Buffer.from(systemRandom.bytes(16)).toString('hex');
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const secret = { mode: 0o600 };
  writeFileSync(path('sa.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }), secret);
  writeFileSync(path('sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }), secret);
  writeFileSync(path('tokens.csv'), `${token},admin,admin,"system:masters"\n`, secret);
  const children = new Map<string, ChildProcess>();
  const run = (name: string, program: string, flags: Readonly<Record<string, string>>): void => {
    const log = openSync(path(`${name}.log`), 'a');
    const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
    children.set(name, spawn(program, args, { stdio: ['ignore', log, log] }));
    closeSync(log);
  };
  // A run that is ended, as after its time, leaves no servers behind.
  const abandon = (): void => {
    for (const child of children.values()) child.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  };
  const end = (): never => process.exit(1);
  process.once('exit', abandon);
  // Not once: a signal to the group comes again from npm and from the script that started this one,
  // and would kill this process before it has ended the servers.
  for (const signal of SIGNALS) process.on(signal, end);
  const stop = async (): Promise<void> => {
    process.removeListener('exit', abandon);
    for (const signal of SIGNALS) process.removeListener(signal, end);
    for (const child of [...children.values()].reverse()) await ended(child);
    rmSync(dir, { recursive: true, force: true });
  };
  const etcdUrl = given ?? `http://127.0.0.1:${client}`;
  const peerUrl = `http://127.0.0.1:${peer}`;
  if (given === undefined)
    run('etcd', ensureEtcd(progress), {
      'data-dir': path('etcd'),
      'listen-client-urls': etcdUrl,
      'advertise-client-urls': etcdUrl,
      'listen-peer-urls': peerUrl,
      'initial-advertise-peer-urls': peerUrl,
      'initial-cluster': `default=${peerUrl}`,
      'unsafe-no-fsync': 'true',
    });
  run('kube-apiserver', apiServer, {
    'etcd-servers': etcdUrl,
    'secure-port': String(secure),
    'bind-address': '127.0.0.1',
    'advertise-address': '127.0.0.1',
    'cert-dir': path('certs'),
    'token-auth-file': path('tokens.csv'),
    'authorization-mode': 'Node,RBAC',
    'enable-admission-plugins': 'NodeRestriction',
    'allow-privileged': 'true',
    'service-account-issuer': 'https://kubernetes.default.svc.cluster.local',
    'service-account-key-file': path('sa.pub'),
    'service-account-signing-key-file': path('sa.key'),
    'service-cluster-ip-range': '10.96.0.0/16',
    'disable-admission-plugins': 'ServiceAccount',
    ...flags,
  });
  const url = `https://127.0.0.1:${secure}`;
  const reference = new Remote(url, token);
  try {
    const times = { clock: systemClock, intervalMs: POLL_MS, timeoutMs: READY_TIMEOUT_MS };
    await wait.pollImmediately(times, async () => {
      const ended = [...children].find(([, child]) => hasEnded(child))?.[0];
      if (ended !== undefined) throw new UserError(`${ended} ended`);
      return await isReady(reference);
    });
    return { url, token, stop };
  } catch (error) {
    const log = readFileSync(path('kube-apiserver.log'), 'utf8').slice(-2000);
    await stop();
    const reason = error instanceof Error ? error.message : String(error);
    throw new UserError(`upstream's server is not ready: ${reason}\n${log}`, { cause: error });
  } finally {
    reference.close();
  }
}

async function isReady(reference: Remote): Promise<boolean> {
  try {
    const ready = { method: 'GET', path: '/readyz', type: '', body: '', changes: [] };
    return (await reference.send(ready)).code === 200;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') return false;
    throw error;
  }
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null;

/** Ends the process, and resolves when it has ended. */
async function ended(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const exit = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  await exit;
}
