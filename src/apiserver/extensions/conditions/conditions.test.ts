// The status of definitions, through a server: names, conflicts of names and their resolution, and
// deletion.

import { expect, test } from 'vitest';

import {
  type CustomResourceDefinition,
  customResourceDefinitions,
} from '#api/groups/apiextensions/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';

type Definition = Immutable<CustomResourceDefinition>;

const t = serverPerTest();

const definitions = () => t.client.resource(customResourceDefinitions);

function definition(
  plural: string,
  names: object = {},
  more: object = {},
): New<CustomResourceDefinition> {
  const kind = plural.charAt(0).toUpperCase() + plural.slice(1, -1);
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: 'object' } },
  };
  return {
    metadata: { name: `${plural}.example.com`, ...more },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural, kind, ...names },
      versions: [version],
    },
  };
}

/** Resolves with the definition as soon as it meets the condition. */
async function when(
  name: string,
  condition: (definition: Definition) => boolean,
): Promise<Definition> {
  const events = await definitions().watch({ fieldSelector: `metadata.name=${name}` });
  for await (const { type, object } of events) {
    if (type !== 'DELETED' && condition(object)) return object;
  }
  throw new Error(`the watch of ${name} has ended`);
}

async function deletionOf(name: string): Promise<void> {
  const events = await definitions().watch({ fieldSelector: `metadata.name=${name}` });
  for await (const { type } of events) if (type === 'DELETED') return;
}

const condition = (of: Definition, type: string) =>
  of.status.conditions?.find((each) => each.type === type);
const isEstablished = (of: Definition): boolean => condition(of, 'Established')?.status === 'True';
const hasNames = (status: string) => (of: Definition) =>
  condition(of, 'NamesAccepted')?.status === status;
const lastTransitionTime = expect.any(String) as string;

test('many concurrent definitions are all established', async () => {
  const names = Array.from({ length: 40 }, (_, index) => `widgets${index}s`);
  await Promise.all(names.map((name) => definitions().create(definition(name))));
  await Promise.all(names.map((name) => when(`${name}.example.com`, isEstablished)));
});

test('a definition is established', async () => {
  await definitions().create(definition('widgets', { shortNames: ['wi'], categories: ['all'] }));
  const { status, metadata, spec } = await when('widgets.example.com', isEstablished);
  expect(status).toEqual({
    conditions: [
      {
        type: 'NamesAccepted',
        status: 'True',
        lastTransitionTime,
        reason: 'NoConflicts',
        message: 'no conflicts found',
      },
      {
        type: 'Established',
        status: 'True',
        lastTransitionTime,
        reason: 'InitialNamesAccepted',
        message: 'the initial names have been accepted',
      },
    ],
    acceptedNames: spec.names,
    storedVersions: ['v1'],
  });
  expect(metadata.managedFields?.map(({ manager, subresource }) => [manager, subresource])).toEqual(
    [
      ['coxswain', undefined],
      ['kube-apiserver', 'status'],
    ],
  );
});

test('a name that is in use is not accepted until it is free', async () => {
  await definitions().create(definition('widgets', { shortNames: ['wi'] }));
  await when('widgets.example.com', isEstablished);
  await definitions().create(definition('wizards', { shortNames: ['wi', 'wiz'], kind: 'Widget' }));
  const refused = await when('wizards.example.com', hasNames('False'));
  expect(refused.status.acceptedNames).toEqual({ plural: 'wizards', kind: '' });
  expect(refused.status.conditions).toMatchObject([
    {
      type: 'NamesAccepted',
      status: 'False',
      reason: 'ListKindConflict',
      message: '"WidgetList" is already in use',
    },
    {
      type: 'Established',
      status: 'False',
      reason: 'NotAccepted',
      message: 'not all names are accepted',
    },
  ]);
  await definitions().delete('widgets.example.com');
  const accepted = await when('wizards.example.com', isEstablished);
  expect(accepted.status.acceptedNames).toEqual(accepted.spec.names);
});

test('a name that is no longer requested is free for others', async () => {
  const first = definition('widgets', { shortNames: ['wi'] });
  await definitions().create(first);
  await when('widgets.example.com', isEstablished);
  await definitions().create(definition('wizards', { shortNames: ['wi'] }));
  const refused = await when('wizards.example.com', hasNames('False'));
  expect(condition(refused, 'NamesAccepted')).toMatchObject({
    reason: 'ShortNamesConflict',
    message: '"wi" is already in use',
  });
  await definitions().patch('widgets.example.com', 'application/merge-patch+json', {
    spec: { names: { shortNames: null } },
  });
  await when('wizards.example.com', isEstablished);
});

test('a definition without objects is deleted at once', async () => {
  await definitions().create(definition('widgets'));
  await definitions().delete('widgets.example.com');
  await deletionOf('widgets.example.com');
});

test('other finalizers keep a definition', async () => {
  await definitions().create(definition('widgets', {}, { finalizers: ['example.com/mine'] }));
  await definitions().delete('widgets.example.com');
  const last = await when(
    'widgets.example.com',
    ({ metadata }) => metadata.finalizers?.length === 1,
  );
  expect(condition(last, 'Terminating')).toMatchObject({ status: 'False' });
});

test.each([
  [
    'unapproved, testing',
    {
      status: 'False',
      reason: 'UnapprovedAnnotation',
      message: 'not approved: "unapproved, testing"',
    },
  ],
  [
    'https://k8s.io/1',
    { status: 'True', reason: 'ApprovedAnnotation', message: 'approved in https://k8s.io/1' },
  ],
])('protected group with the approval %s', async (approval, expected) => {
  const wanted = definition(
    'widgets',
    {},
    { annotations: { 'api-approved.kubernetes.io': approval } },
  );
  await definitions().create({
    ...wanted,
    metadata: { ...wanted.metadata, name: 'widgets.x.k8s.io' },
    spec: { ...wanted.spec, group: 'x.k8s.io' },
  });
  const established = await when('widgets.x.k8s.io', isEstablished);
  expect(condition(established, 'KubernetesAPIApprovalPolicyConformant')).toMatchObject(expected);
});
