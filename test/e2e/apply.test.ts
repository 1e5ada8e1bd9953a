// Server-side apply through kubectl: conflicts, force, removed fields, and the migration from
// client-side apply.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseYaml } from '#api/machinery/codec/yaml.ts';
import {
  coxUp,
  type Kubectl,
  missingKubectl,
  named,
  type RunningCluster,
  temporaryDir,
  testedKubectls,
} from './harness.ts';
import { replicaSet } from './manifests.ts';

const versions = testedKubectls();

interface Applied {
  readonly metadata: {
    readonly annotations?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly {
      readonly manager: string;
      readonly operation: string;
      readonly subresource?: string;
      readonly fieldsV1: Readonly<Record<string, unknown>>;
    }[];
  };
  readonly data?: Readonly<Record<string, string>>;
}

describe
  .skipIf(missingKubectl !== undefined)
  .each(versions.length > 0 ? versions : [{ version: 'none', path: '' }])(
  named('kubectl $version', missingKubectl),
  ({ path }) => {
    let dir: ReturnType<typeof temporaryDir>;
    let cluster: RunningCluster;
    let kubectl: Kubectl;
    /** The name of the test's own ConfigMap; each test has another one. */
    let name: string;
    let count = 0;
    beforeAll(async () => {
      dir = temporaryDir();
      cluster = await coxUp(['--runtime', 'simulated', '--nodes', '1'], { dataDir: dir.path });
      kubectl = cluster.kubectl(path);
    });
    afterAll(async () => {
      await cluster?.stop();
      dir.remove();
    });
    beforeEach(() => {
      name = `config-${++count}`;
    });
    const configMap = (data: string): string =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: default}\ndata: ${data}\n`;
    const apply = (input: string, flags = ''): ReturnType<Kubectl['try']> =>
      kubectl.try(`apply --server-side ${flags} -f -`, { input });
    const shown = async (): Promise<Applied> =>
      parseYaml(
        await kubectl.run(`get configmap ${name} -o yaml --show-managed-fields`),
      ) as Applied;
    const owners = async (): Promise<string[]> =>
      ((await shown()).metadata.managedFields ?? []).map(
        ({ manager, operation }) => `${manager} ${operation}`,
      );

    test('creates and changes objects, and prints that', async () => {
      expect(await apply(configMap('{a: "1", b: "1"}'))).toMatchObject({
        status: 0,
        stdout: `configmap/${name} serverside-applied\n`,
      });
      const { metadata } = await shown();
      expect(metadata.annotations).toBeUndefined();
      expect(metadata.managedFields).toMatchObject([
        {
          manager: 'kubectl',
          operation: 'Apply',
          fieldsV1: { 'f:data': { 'f:a': {}, 'f:b': {} } },
        },
      ]);
      // A field that is no longer applied is removed.
      await apply(configMap('{a: "2"}'));
      expect((await shown()).data).toEqual({ a: '2' });
      // kubectl shows managed fields only with --show-managed-fields.
      expect(await kubectl.run(`get configmap ${name} -o yaml`)).not.toContain('managedFields');
    });

    test('a conflict names the owner of the field; force takes the field over', async () => {
      await apply(configMap('{a: "1", b: "1"}'), '--field-manager=one');
      const refused = await apply(configMap('{a: "2"}'), '--field-manager=two');
      expect(refused.status).toBe(1);
      expect(refused.stderr).toMatch(
        /^error: Apply failed with 1 conflict: conflict with "one": \.data\.a\nPlease review the fields above/,
      );
      expect(
        (await apply(configMap('{a: "2"}'), '--field-manager=two --force-conflicts')).status,
      ).toBe(0);
      expect((await shown()).metadata.managedFields).toMatchObject([
        { manager: 'one', fieldsV1: { 'f:data': { 'f:b': {} } } },
        { manager: 'two', fieldsV1: { 'f:data': { 'f:a': {} } } },
      ]);
    });

    test('two appliers share the same value, which stays until the last one drops it', async () => {
      await apply(configMap('{a: "1", b: "1"}'), '--field-manager=one');
      expect((await apply(configMap('{a: "1"}'), '--field-manager=two')).status).toBe(0);
      await apply(configMap('{b: "1"}'), '--field-manager=one');
      expect((await shown()).data).toEqual({ a: '1', b: '1' });
      await apply(configMap('{}'), '--field-manager=two');
      expect((await shown()).data).toEqual({ b: '1' });
    });

    test('migrates from client-side apply without a conflict', async () => {
      await kubectl.run('apply -f -', { input: configMap('{a: "1", b: "1"}') });
      expect(await owners()).toEqual(['kubectl-client-side-apply Update']);
      expect((await apply(configMap('{a: "2"}'), '--field-manager=other')).stderr).toContain(
        'conflict with "kubectl-client-side-apply" using v1: .data.a',
      );
      expect((await apply(configMap('{a: "2"}'))).status).toBe(0);
      const object = await shown();
      expect(object.data?.['a']).toBe('2');
      expect(
        object.metadata.annotations?.['kubectl.kubernetes.io/last-applied-configuration'],
      ).toContain('"a":"2"');
      expect(await owners()).toContain('kubectl Apply');
      // The way back: client-side apply takes the annotation for the last applied configuration.
      expect((await kubectl.try('apply -f -', { input: configMap('{a: "3"}') })).status).toBe(0);
    });

    test('a manual scale conflicts only with appliers of the replicas', async () => {
      const manifest = replicaSet(name, 1);
      expect((await apply(manifest)).status).toBe(0);
      await kubectl.run(`scale rs ${name} --replicas=2`);
      const refused = await apply(manifest);
      expect(refused.stderr).toContain('with subresource "scale" using apps/v1: .spec.replicas');
      expect((await apply(manifest.replace(/^ {2}replicas: .*\n/m, ''))).status).toBe(0);
      expect(await kubectl.run(`get rs ${name} -o jsonpath={.spec.replicas}`)).toBe('2');
      const managers = await kubectl.run(
        `get rs ${name} --show-managed-fields -o jsonpath={.metadata.managedFields[*].manager}`,
      );
      expect(managers.split(' ')).toEqual(
        expect.arrayContaining(['kubectl', 'kube-controller-manager']),
      );
    });

    test('dry runs, and errors', async () => {
      expect((await apply(configMap('{a: "1"}'), '--dry-run=server')).stdout).toBe(
        `configmap/${name} serverside-applied (server dry run)\n`,
      );
      expect((await kubectl.try(`get configmap ${name}`)).status).toBe(1);
      const unknown = await apply(`${configMap('{}')}dato: 1\n`, '--validate=false');
      expect(unknown.stderr).toBe(
        'Error from server (BadRequest): failed to create typed patch object ' +
          `(default/${name}; /v1, Kind=ConfigMap): .dato: field not declared in schema\n`,
      );
      const number = await apply(configMap('{a: 1}'), '--validate=false');
      expect(number.stderr).toContain(
        '.data.a: expected string, got &value.valueUnstructured{Value:1}',
      );
    });
  },
);
