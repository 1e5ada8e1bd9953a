import { expect, test } from 'vitest';
import { validatingAdmissionPolicies } from '#api/groups/admissionregistration/v1/index.ts';
import { disturb } from '../testing/robustness.ts';
import { startTestCluster } from '../testing/test-cluster.ts';
import type { TestCluster } from '../testing/test-cluster.ts';
import { ValidatingAdmissionPolicyStatusController } from './index.ts';

const rule = (apiGroups: string[], resources: string[], apiVersions = ['v1']) => ({
  apiGroups,
  apiVersions,
  operations: ['CREATE' as const],
  resources,
});
const inCluster = ({ client }: TestCluster) => client.resource(validatingAdmissionPolicies);
const create = (cluster: TestCluster, name: string, rules: object[], validations: object[], more: object = {}) =>
  inCluster(cluster).create({
    metadata: { name },
    spec: { matchConstraints: { resourceRules: rules }, validations, ...more },
  });

test('expressions that do not fit the kinds of their policy are told, once for each generation', async () => {
  const cluster = await startTestCluster();
  await cluster.run((config) => new ValidatingAdmissionPolicyStatusController(config));
  const warnings = async (name: string) => {
    await cluster.clock.settle();
    const { status, metadata } = await inCluster(cluster).get(name);
    expect(status.observedGeneration).toBe(metadata.generation);
    return status.typeChecking?.expressionWarnings;
  };
  await create(cluster, 'good', [rule(['apps'], ['deployments'])], [{ expression: 'object.spec.replicas > 1' }]);
  expect(await warnings('good')).toBeUndefined();
  expect((await inCluster(cluster).get('good')).status.typeChecking).toEqual({});
  await create(
    cluster,
    'typo',
    [rule(['apps'], ['deployments'])],
    [
      { expression: 'has(object.spec.template)' },
      { expression: 'object.replicas > 1', messageExpression: '"only " + string(object.spec.replica)' },
    ],
  );
  expect(await warnings('typo')).toEqual([
    {
      fieldRef: 'spec.validations[1].expression',
      warning: "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'\n | object.replicas > 1\n | ......^",
    },
    {
      fieldRef: 'spec.validations[1].messageExpression',
      warning: expect.stringContaining("undefined field 'replica'"),
    },
  ]);
  // Of each kind apart; of those that nobody names nothing is known.
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
  await create(cluster, 'any', [rule(['*'], ['*'], ['*'])], [{ expression: 'object.nonsense > 1' }]);
  expect(await warnings('any')).toBeUndefined();
  const validations = [{ expression: 'object.spec.replicas > 1' }];
  await inCluster(cluster).patch('typo', 'application/merge-patch+json', { spec: { validations } });
  expect(await warnings('typo')).toBeUndefined();
  await cluster.stop();
});

test('it ends the same, whatever goes wrong', { timeout: 120_000 }, async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new ValidatingAdmissionPolicyStatusController(config),
    steps: [
      async (cluster) => {
        await create(cluster, 'a', [rule([''], ['pods'])], [{ expression: 'object.nonsense > 1' }]);
        await create(cluster, 'b', [rule([''], ['pods'])], [{ expression: 'has(object.spec.hostNetwork)' }]);
      },
      async (cluster) => {
        const validations = [{ expression: 'has(object.spec)' }];
        await inCluster(cluster).patch('a', 'application/merge-patch+json', { spec: { validations } });
      },
    ],
    outcome: [validatingAdmissionPolicies],
    rest: '1m',
  });
  expect(writes).toBe(3);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
