// Helm installs, upgrades and uninstalls a chart with a kind of its own and an object of it.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  coxUp,
  eventually,
  type Kubectl,
  missingKubectl,
  named,
  run,
  type RunningCluster,
  type RunResult,
  temporaryDir,
} from '../harness.ts';
import { missingOperators, operatorPath } from './programs.ts';

const missing = missingKubectl ?? missingOperators(['helm']);

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'lighthouses.helm.example.com' },
  spec: {
    group: 'helm.example.com',
    scope: 'Namespaced',
    names: { plural: 'lighthouses', kind: 'Lighthouse' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  height: { type: 'integer', maximum: 100 },
                  lamps: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['name'],
                    items: {
                      type: 'object',
                      required: ['name'],
                      properties: { name: { type: 'string' }, colour: { type: 'string' } },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};
const TEMPLATE = `apiVersion: helm.example.com/v1
kind: Lighthouse
metadata: {name: "{{ .Release.Name }}"}
spec:
  height: {{ .Values.height }}
  lamps:
  {{- range .Values.lamps }}
  - {name: {{ . }}, colour: white}
  {{- end }}
`;

describe.skipIf(missing !== undefined)(
  named('helm and a chart with a kind of its own', missing),
  () => {
    const directory = temporaryDir();
    const chart = join(directory.path, 'chart');
    let cluster: RunningCluster;
    let kubectl: Kubectl;
    const helm = (...args: string[]): Promise<RunResult> =>
      run(operatorPath('helm'), args, {
        env: { KUBECONFIG: cluster.kubeconfig, HOME: directory.path },
        timeoutMs: 120_000,
      });
    const succeeds = async (...args: string[]): Promise<string> => {
      const { status, stdout, stderr } = await helm(...args);
      expect([status, stderr], stdout).toEqual([0, '']);
      return stdout;
    };

    beforeAll(async () => {
      cluster = await coxUp(['--runtime', 'simulated', '--nodes', '1'], {
        dataDir: join(directory.path, 'data'),
      });
      kubectl = cluster.kubectl();
      for (const folder of ['crds', 'templates'])
        mkdirSync(join(chart, folder), { recursive: true });
      writeFileSync(
        join(chart, 'Chart.yaml'),
        stringify({ apiVersion: 'v2', name: 'lighthouse', version: '1.0.0' }),
      );
      writeFileSync(
        join(chart, 'values.yaml'),
        stringify({ height: 20, lamps: ['main', 'spare'] }),
      );
      writeFileSync(join(chart, 'crds', 'lighthouse.yaml'), stringify(definition));
      writeFileSync(join(chart, 'templates', 'lighthouse.yaml'), TEMPLATE);
    });
    afterAll(async () => {
      await cluster?.stop();
      directory.remove();
    });

    const spec = (name: string): Promise<string> =>
      kubectl.run(`get lighthouse ${name} -o jsonpath={.spec}`);

    test('install creates the kind and its object', async () => {
      expect(await succeeds('install', 'cape', chart, '--wait')).toContain('STATUS: deployed');
      expect(JSON.parse(await spec('cape'))).toEqual({
        height: 20,
        lamps: [
          { name: 'main', colour: 'white' },
          { name: 'spare', colour: 'white' },
        ],
      });
      expect(await succeeds('get', 'manifest', 'cape')).toContain('kind: Lighthouse');
    });

    test('upgrade changes the object and keeps the fields of other clients', async () => {
      await kubectl.run('label lighthouse cape painted=yes');
      await succeeds('upgrade', 'cape', chart, '--set', 'height=30,lamps={main}');
      expect(JSON.parse(await spec('cape'))).toEqual({
        height: 30,
        lamps: [{ name: 'main', colour: 'white' }],
      });
      expect(await kubectl.run('get lighthouse cape -o jsonpath={.metadata.labels.painted}')).toBe(
        'yes',
      );
    });

    test('an object that the schema rejects fails the upgrade, and a rollback restores the object', async () => {
      const { status, stderr } = await helm('upgrade', 'cape', chart, '--set', 'height=300');
      expect(status).toBe(1);
      expect(stderr).toContain('spec.height in body should be less than or equal to 100');
      await succeeds('rollback', 'cape', '1');
      expect(JSON.parse(await spec('cape'))).toHaveProperty('height', 20);
    });

    test('uninstall removes the object and leaves the kind', async () => {
      await succeeds('uninstall', 'cape', '--wait');
      await eventually(
        'the object is gone',
        async () => (await kubectl.run('get lighthouses -o name')) === '',
      );
      await kubectl.run('get crd lighthouses.helm.example.com');
    });
  },
);
