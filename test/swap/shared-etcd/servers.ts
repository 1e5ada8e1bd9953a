// An etcd with two API servers on it: upstream's and ours.

import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApiServerRole } from '#cluster/roles/api-server.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { freePorts } from '#machinery/net/testing/free-ports.ts';
import { systemRandom } from '#machinery/random.ts';
import { ensureEtcd } from '../../conformance/binaries.ts';
import { Remote } from '../../differential/remote.ts';
import { startUpstream } from '../../differential/upstream.ts';

export interface SharedEtcd {
  readonly ours: Remote;
  readonly upstream: Remote;
  stop(): Promise<void>;
}

/** A way to encrypt everything, as an EncryptionConfiguration has it. */
export interface Provider {
  readonly [name: string]: { readonly keys: readonly object[] };
}

/** Throws UserError if a program cannot be built, or does not start. */
export async function startShared(
  provider: Provider | undefined,
  progress: (text: string) => void,
): Promise<SharedEtcd> {
  const dir = mkdtempSync(join(tmpdir(), 'coxswain-shared-'));
  const write = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text, { mode: 0o600 });
    return join(dir, name);
  };
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  write('sa.key', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  const token = Buffer.from(systemRandom.bytes(16)).toString('hex');
  const encryption =
    provider === undefined
      ? undefined
      : write('encryption.json', JSON.stringify(configuration(provider)));
  const { url, stop: stopEtcd } = await startEtcd(ensureEtcd(progress), join(dir, 'etcd'));
  const stops: (() => Promise<void>)[] = [
    async () => rmSync(dir, { recursive: true, force: true }),
    stopEtcd,
  ];
  const stop = async (): Promise<void> => {
    for (const each of stops.splice(0).reverse()) await each();
  };
  try {
    const theirs = await startUpstream(progress, {
      etcdUrl: url,
      flags: encryption === undefined ? {} : { 'encryption-provider-config': encryption },
    });
    stops.push(() => theirs.stop());
    const own = await startApiServerRole({
      store: 'etcd',
      etcd: { servers: [url] },
      certDir: dir,
      bindAddress: '127.0.0.1',
      securePort: 0,
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      tokenAuthFile: write('tokens.csv', `${token},admin,admin,"system:masters"\n`),
      serviceClusterIpRange: '10.96.0.0/16',
      disableAdmissionPlugins: ['ServiceAccount'],
      ...(encryption !== undefined && { encryptionProviderConfig: encryption }),
    });
    stops.push(() => own.stop());
    const [ours, upstream] = [
      new Remote(own.url, token),
      new Remote(theirs.url, theirs.token),
    ] as const;
    stops.push(async () => [ours, upstream].forEach((remote) => remote.close()));
    return { ours, upstream, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const configuration = (provider: Provider): object => ({
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'EncryptionConfiguration',
  resources: [{ resources: ['*.*'], providers: [provider, { identity: {} }] }],
});

async function startEtcd(
  program: string,
  dir: string,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const [client = 0, peer = 0] = await freePorts(2);
  const url = `http://127.0.0.1:${client}`;
  const flags = {
    'data-dir': dir,
    'listen-client-urls': url,
    'advertise-client-urls': url,
    'listen-peer-urls': `http://127.0.0.1:${peer}`,
    'unsafe-no-fsync': 'true',
    'log-level': 'error',
  };
  const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
  const etcd: ChildProcess = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const kill = (): void => void etcd.kill('SIGKILL');
  process.once('exit', kill);
  return {
    url,
    stop: async () => {
      process.removeListener('exit', kill);
      if (etcd.exitCode !== null || etcd.signalCode !== null) return;
      const ended = new Promise((settle) => etcd.once('exit', settle));
      kill();
      await ended;
    },
  };
}
