// Encryption at rest: it is turned on, and its key is changed, with secrets in the store. A storage
// version migration rewrites them, so that neither plain text nor the old key is needed any more.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  coxArgs,
  coxUp,
  type Kubectl,
  missingKubectl,
  named,
  run,
  type RunningCluster,
  temporaryDir,
} from './harness.ts';

const SERVED = ['--runtime-config', 'storagemigration.k8s.io/v1beta1=true'];
const key = (name: string, letter: string) => ({
  name,
  secret: Buffer.from(letter.repeat(32)).toString('base64'),
});

function encryption(dir: string, providers: readonly object[]): readonly string[] {
  const path = join(dir, 'encryption.json');
  const resources = [{ resources: ['secrets'], providers }];
  writeFileSync(
    path,
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'EncryptionConfiguration',
      resources,
    }),
  );
  return ['--encryption-provider-config', path];
}

describe.skipIf(missingKubectl !== undefined)(
  named('storage version migration', missingKubectl),
  () => {
    let dir: ReturnType<typeof temporaryDir>;
    let cluster: RunningCluster | undefined;
    const start = async (...flags: readonly string[]): Promise<Kubectl> => {
      await cluster?.stop();
      cluster = await coxUp(['--runtime', 'simulated', ...flags], { dataDir: dir.path });
      return cluster.kubectl();
    };
    const migrate = async (kubectl: Kubectl, name: string): Promise<void> => {
      const migration = {
        apiVersion: 'storagemigration.k8s.io/v1beta1',
        kind: 'StorageVersionMigration',
        metadata: { name },
      };
      const manifest = JSON.stringify({
        ...migration,
        spec: { resource: { group: '', resource: 'secrets' } },
      });
      await kubectl.run('create -f -', { input: manifest });
      await kubectl.run(
        `wait --for=condition=Succeeded --timeout=60s storageversionmigration/${name}`,
      );
      expect(await kubectl.run(`get storageversionmigrations ${name} --no-headers`)).toMatch(
        new RegExp(`^${name} +secrets +Succeeded\\s*$`),
      );
    };
    const password = (kubectl: Kubectl): Promise<string> =>
      kubectl.run('get secret login -o jsonpath={.data.password}');
    beforeAll(() => {
      dir = temporaryDir();
    });
    afterAll(async () => {
      await cluster?.stop();
      dir.remove();
    });

    test('encrypts the existing objects, and makes an old key unnecessary', async () => {
      let kubectl = await start();
      await kubectl.run('create secret generic login --from-literal=password=sesame');
      const sesame = Buffer.from('sesame').toString('base64');
      const without = await kubectl.try('get storageversionmigrations');
      expect(without.stderr).toContain("the server doesn't have a resource type");

      const [one, two] = [key('one', '1'), key('two', '2')];
      kubectl = await start(
        ...SERVED,
        ...encryption(dir.path, [{ aesgcm: { keys: [one] } }, { identity: {} }]),
      );
      expect(await password(kubectl)).toBe(sesame);
      await migrate(kubectl, 'encrypt');

      // This server does not read plain text any more.
      kubectl = await start(...SERVED, ...encryption(dir.path, [{ aesgcm: { keys: [two, one] } }]));
      expect(await password(kubectl)).toBe(sesame);
      await migrate(kubectl, 'rotate');

      // This server does not have the first key any more.
      kubectl = await start(...encryption(dir.path, [{ aesgcm: { keys: [two] } }]));
      expect(await password(kubectl)).toBe(sesame);
    });

    test('a configuration that cannot be served is reported before anything runs', async () => {
      const other = temporaryDir();
      const up = [
        'up',
        '--data-dir',
        other.path,
        '--secure-port',
        '0',
        '--no-install',
        '--runtime',
        'simulated',
      ];
      const { status, stderr } = await run(process.execPath, [
        ...coxArgs,
        ...up,
        '--runtime-config',
        'apps/v2=true',
      ]);
      other.remove();
      expect(status).toBe(1);
      expect(stderr).toContain(
        'cox: --runtime-config: apps/v2=true: group version apps/v2 that has not been ' +
          'registered: this server does not have it',
      );
    });
  },
);
