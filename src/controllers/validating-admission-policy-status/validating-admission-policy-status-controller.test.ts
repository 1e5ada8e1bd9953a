import { expect, test } from 'vitest';
import { validatingAdmissionPolicies } from '#api/groups/admissionregistration/v1/index.ts';
import { customResourceDefinitions } from '#api/groups/apiextensions/v1/index.ts';
import { disturb } from '../testing/robustness.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { ValidatingAdmissionPolicyStatusController } from './index.ts';

const rule = (apiGroups: string[], resources: string[], apiVersions = ['v1']) => ({
  apiGroups,
  apiVersions,
  operations: ['CREATE' as const],
  resources,
});
const inCluster = ({ client }: TestCluster) => client.resource(validatingAdmissionPolicies);
const create = (
  cluster: TestCluster,
  name: string,
  rules: object[],
  validations: object[],
  more: object = {},
) =>
  inCluster(cluster).create({
    metadata: { name },
    spec: { matchConstraints: { resourceRules: rules }, validations, ...more },
  });

test('expressions that do not fit the kinds of their policy are reported once per generation', async () => {
  const cluster = await startTestCluster();
  await cluster.run((config) => new ValidatingAdmissionPolicyStatusController(config));
  const warnings = async (name: string) => {
    await cluster.clock.settle();
    const { status, metadata } = await inCluster(cluster).get(name);
    expect(status.observedGeneration).toBe(metadata.generation);
    return status.typeChecking?.expressionWarnings;
  };
  await create(
    cluster,
    'good',
    [rule(['apps'], ['deployments'])],
    [{ expression: 'object.spec.replicas > 1' }],
  );
  expect(await warnings('good')).toBeUndefined();
  expect((await inCluster(cluster).get('good')).status.typeChecking).toEqual({});
  await create(
    cluster,
    'typo',
    [rule(['apps'], ['deployments'])],
    [
      { expression: 'has(object.spec.template)' },
      {
        expression: 'object.replicas > 1',
        messageExpression: '"only " + string(object.spec.replica)',
      },
    ],
  );
  expect(await warnings('typo')).toEqual([
    {
      fieldRef: 'spec.validations[1].expression',
      warning:
        "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'\n | object.replicas > 1\n | ......^",
    },
    {
      fieldRef: 'spec.validations[1].messageExpression',
      warning: expect.stringContaining("undefined field 'replica'"),
    },
  ]);
  // Each kind has its own warnings; a wildcard rule is not checked.
  const two = [rule([''], ['pods', 'configmaps', 'pods/status']), rule(['*'], ['*'], ['*'])];
  await create(cluster, 'two', two, [{ expression: 'object.spec.replicas > 1' }]);
  expect(await warnings('two')).toEqual([
    {
      fieldRef: 'spec.validations[0].expression',
      warning:
        "v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'spec'\n | object.spec.replicas > 1\n | ......^\n" +
        "v1, Kind=Pod: ERROR: <input>:1:12: undefined field 'replicas'\n | object.spec.replicas > 1\n | ...........^",
    },
  ]);
  await create(
    cluster,
    'any',
    [rule(['*'], ['*'], ['*'])],
    [{ expression: 'object.nonsense > 1' }],
  );
  expect(await warnings('any')).toBeUndefined();
  const validations = [{ expression: 'object.spec.replicas > 1' }];
  await inCluster(cluster).patch('typo', 'application/merge-patch+json', { spec: { validations } });
  expect(await warnings('typo')).toBeUndefined();
  await cluster.stop();
});

test('a policy is checked against existing custom kinds, and with parameters of a custom kind', async () => {
  const cluster = await startTestCluster();
  await cluster.run((config) => new ValidatingAdmissionPolicyStatusController(config));
  const schema = (properties: object) => ({ openAPIV3Schema: { type: 'object', properties } });
  const define = async (plural: string, kind: string, properties: object): Promise<void> => {
    const name = `${plural}.example.com`;
    const names = { plural, kind };
    const versions = [{ name: 'v1', served: true, storage: true, schema: schema(properties) }];
    await cluster.client.resource(customResourceDefinitions).create({
      metadata: { name },
      spec: { group: 'example.com', scope: 'Cluster', names, versions },
    });
    await cluster.clock.settle();
  };
  const policy = async (name: string, expression: string, more: object = {}) => {
    await create(cluster, name, [rule(['example.com'], ['widgets'])], [{ expression }], more);
    await cluster.clock.settle();
    return (await inCluster(cluster).get(name)).status.typeChecking?.expressionWarnings?.map(
      ({ warning }) => warning,
    );
  };
  expect(await policy('before', 'object.spec.nothing > 1')).toBeUndefined();
  await define('widgets', 'Widget', {
    spec: { type: 'object', properties: { size: { type: 'integer' } } },
  });
  await define('limits', 'Limit', { max: { type: 'integer' } });
  expect(
    await policy('good', 'object.spec.size > 1 && object.metadata.labels.a == "b"'),
  ).toBeUndefined();
  expect(await policy('typo', 'object.spec.nothing > 1')).toEqual([
    expect.stringContaining("undefined field 'nothing'"),
  ]);
  const paramKind = { apiVersion: 'example.com/v1', kind: 'Limit' };
  expect(await policy('params', 'object.spec.size < params.max', { paramKind })).toBeUndefined();
  expect(await policy('wrong-params', 'object.spec.size < params.min', { paramKind })).toEqual([
    expect.stringContaining("undefined field 'min'"),
  ]);
  await cluster.stop();
});

test('reaches the same outcome after every fault', async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new ValidatingAdmissionPolicyStatusController(config),
    steps: [
      async (cluster) => {
        await create(cluster, 'a', [rule([''], ['pods'])], [{ expression: 'object.nonsense > 1' }]);
        await create(
          cluster,
          'b',
          [rule([''], ['pods'])],
          [{ expression: 'has(object.spec.hostNetwork)' }],
        );
      },
      async (cluster) => {
        const validations = [{ expression: 'has(object.spec)' }];
        await inCluster(cluster).patch('a', 'application/merge-patch+json', {
          spec: { validations },
        });
      },
    ],
    outcome: [validatingAdmissionPolicies],
    rest: '1m',
  });
  expect(writes).toBe(3);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
