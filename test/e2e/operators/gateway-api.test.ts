// The kinds of the Gateway API: they install, every example of the project is accepted, and every
// invalid example is rejected with the messages of Kubernetes. RECORD_GATEWAY_API=KUBECONFIG
// records the messages of another server.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  coxUp,
  eventually,
  Kubectl,
  kubectls,
  missingKubectl,
  named,
  type RunningCluster,
  temporaryDir,
} from '../harness.ts';
import { missingOperators, operatorPath } from './programs.ts';

const missing =
  missingKubectl ??
  missingOperators(['gateway-api', 'gateway-api-examples', 'gateway-api-invalid']);
const recorded = new URL('./gateway-api.json', import.meta.url);
const recordFrom = process.env['RECORD_GATEWAY_API'];
const CHANNELS = ['standard', 'experimental'] as const;
const POLICY = 'safe-upgrades.gateway.networking.k8s.io';

function manifests(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.ya?ml$/.test(file))
    .sort();
}

describe.skipIf(missing !== undefined)(named('the Gateway API', missing), () => {
  const directory = temporaryDir();
  let cluster: RunningCluster | undefined;
  let kubectl: Kubectl;

  beforeAll(async () => {
    if (recordFrom !== undefined) {
      kubectl = new Kubectl(kubectls()[0]?.path ?? 'kubectl', recordFrom, directory.path);
      return;
    }
    cluster = await coxUp(['--runtime', 'simulated', '--nodes', '1'], {
      dataDir: join(directory.path, 'data'),
    });
    kubectl = cluster.kubectl();
  });
  afterAll(async () => {
    await cluster?.stop();
    directory.remove();
  });

  /** Returns kubectl's output for the files in a dry run, as a set of lines. */
  const answersOf = async (folder: string): Promise<readonly string[]> => {
    const options = '--dry-run=server --validate=strict -n default --recursive';
    const { stdout, stderr } = await kubectl.try(`create ${options} -f ${folder}`, {
      timeoutMs: 120_000,
    });
    return `${stdout}${stderr}`.replaceAll(folder, '').trim().split('\n').sort();
  };

  test.each(CHANNELS)(
    'the %s channel installs, its examples have the same results as with Kubernetes, and it can be removed',
    async (channel) => {
      const definitions = join(operatorPath('gateway-api'), channel);
      const files = manifests(definitions).filter((file) => file !== 'kustomization.yaml');
      for (const file of files) {
        await kubectl.run(`apply --server-side -f ${join(definitions, file)}`, {
          timeoutMs: 120_000,
        });
      }
      await kubectl.run('wait --for=condition=Established crd --all --timeout=60s');
      expect(await kubectl.run('explain httproute.spec.rules.filters.type')).toMatch(
        /FIELD: type <(string|enum)>/,
      );
      await eventually('the kinds have discovery documents', async () =>
        (await kubectl.run('api-resources')).includes('referencegrants'),
      );

      const found = {
        valid: await answersOf(join(operatorPath('gateway-api-examples'), channel)),
        invalid: await answersOf(join(operatorPath('gateway-api-invalid'), channel)),
      };
      const known = JSON.parse(readFileSync(recorded, 'utf8')) as Record<string, typeof found>;
      if (recordFrom !== undefined)
        writeFileSync(
          recorded,
          `${JSON.stringify({ ...known, [channel]: found }, undefined, 1)}\n`,
        );
      else expect(found).toEqual(known[channel]);
      expect(found.invalid.filter((line) => line.includes('created'))).toEqual([]);

      // The policy forbids older definitions over newer ones, not their removal.
      await kubectl.try(
        `delete validatingadmissionpolicybinding,validatingadmissionpolicy ${POLICY}`,
      );
      await kubectl.run('delete crd --all --timeout=90s', { timeoutMs: 100_000 });
      expect(await kubectl.run('get crd -o name')).toBe('');
    },
  );
});
