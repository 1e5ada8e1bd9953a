// An etcd with two API servers on it: upstream's and ours.

import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApiServerRole } from '#cluster/roles/api-server.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { startEtcd } from '#storage/etcd/testing/etcd-process.ts';
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
  const etcd = await startEtcd({ program: ensureEtcd(progress), args: ['--unsafe-no-fsync'] });
  const stops: (() => Promise<void>)[] = [
    async () => rmSync(dir, { recursive: true, force: true }),
    () => etcd.stop(),
  ];
  const stop = async (): Promise<void> => {
    for (const each of stops.splice(0).reverse()) await each();
  };
  try {
    const theirs = await startUpstream(progress, {
      etcdUrl: etcd.endpoint,
      flags: encryption === undefined ? {} : { 'encryption-provider-config': encryption },
    });
    stops.push(() => theirs.stop());
    const own = await startApiServerRole({
      store: 'etcd',
      etcd: { servers: [etcd.endpoint] },
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
