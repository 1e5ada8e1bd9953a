import { expect, test } from 'vitest';
import { decodeFromStorage } from '#api/machinery/codec/index.ts';
import { encodeProtobuf } from '#api/machinery/codec/protobuf/index.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { messageOf } from '#api/testing/message-of.ts';
import type { Opened } from '#storage/transformed-storage.ts';
import { databaseForm } from './database-form.ts';
import { convertObject } from './object-converter.ts';
import { formerMessage, formerVersionsConverter } from './former-versions.ts';

const metadata = { name: 'a', uid: 'u', creationTimestamp: '2026-01-02T03:04:05Z' };
const kind = (group: string, name: string) => ({ group, version: 'v1', kind: name });

interface Given {
  readonly kind: string;
  readonly [member: string]: unknown;
}

/** Returns the object as its store reads it, after upstream has written it in a former version. */
const read = (group: string, former: string, object: Given): unknown => {
  const name = object.kind;
  const message = messageOf(`${group}/v1`, name)!;
  const stored = encodeProtobuf(message, { ...object, apiVersion: `${group}/${former}` });
  const opened = databaseForm.open(stored, '') as Opened;
  const given = decodeFromStorage<KubeObject>(opened.value, 7);
  expect(given.apiVersion).toBe(`${group}/${former}`);
  return convertObject(formerVersionsConverter(kind(group, name)), given, `${group}/v1`);
};

test('objects that an earlier release has stored are read', () => {
  const group = 'rbac.authorization.k8s.io';
  const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }];
  expect(read(group, 'v1beta1', { kind: 'ClusterRole', metadata, rules })).toEqual({
    kind: 'ClusterRole',
    apiVersion: `${group}/v1`,
    metadata: { ...metadata, resourceVersion: '7' },
    rules,
  });
});

test.each([
  ['an empty selector matches no pods', {}, 'Exists'],
  ['one matches all pods', 'DoesNotExist', {}],
  ['others stay', { matchLabels: { a: 'b' } }, { matchLabels: { a: 'b' } }],
] as const)('disruption budgets of v1beta1: %s', (_, given, expected) => {
  const selector = (of: object | string): object =>
    typeof of === 'string'
      ? {
          matchExpressions: [
            { key: 'pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match', operator: of },
          ],
        }
      : of;
  const budget = {
    kind: 'PodDisruptionBudget',
    metadata,
    spec: { minAvailable: 1, selector: selector(given) },
  };
  expect(read('policy', 'v1beta1', budget)).toMatchObject({
    apiVersion: 'policy/v1',
    spec: { minAvailable: 1, selector: selector(expected) },
  });
});

test('other versions are unknown', () => {
  expect(formerMessage('rbac.authorization.k8s.io/v1alpha1', 'Role')).toBeUndefined();
  expect(formerMessage('extensions/v1beta1', 'Ingress')).toBeUndefined();
  expect(formerVersionsConverter(kind('', 'Pod'))).toBeUndefined();
});
