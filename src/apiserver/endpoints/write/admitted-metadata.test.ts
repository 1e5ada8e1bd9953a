// Invalid metadata from clients and from admission.

import { expect, test } from 'vitest';

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { send } from '../../testing/requests.ts';
import { serverPerTest } from '../../testing/server-per-test.ts';
import { checkedMetadata, withoutDuplicateOwners } from './admitted-metadata.ts';

const owner = (uid: string, name = 'p') => ({ apiVersion: 'v1', kind: 'Pod', name, uid });
const TEXT = (when: string, uids: string): string =>
  `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner ` +
  'references in 1.20+, and may reject such requests ' +
  `as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids}`;

const t = serverPerTest();

test('duplicate owners of a create, an update and a patch are dropped with a warning', async () => {
  const path = '/api/v1/namespaces/default/configmaps';
  const object = (ownerReferences: object[]): object => ({
    metadata: { name: 'm', ownerReferences },
  });
  const created = await send(t.server, {
    method: 'POST',
    path,
    body: object([owner('u'), owner('u'), owner('v')]),
  });
  expect(created.json.metadata.ownerReferences).toEqual([owner('u'), owner('v')]);
  expect(created.warnings).toEqual([TEXT('', 'u')]);
  const updated = await send(t.server, {
    method: 'PUT',
    path: `${path}/m`,
    body: object([owner('w'), owner('w'), owner('w')]),
  });
  expect(updated.json.metadata.ownerReferences).toEqual([owner('w')]);
  expect(updated.warnings).toEqual([TEXT('', 'w, w')]);
  // An owner that differs in another field is a different owner.
  const [one, other] = [owner('u'), owner('u', 'q')];
  expect(
    withoutDuplicateOwners(
      { metadata: { name: 'x', ownerReferences: [one, other] } } as unknown as KubeObject,
      [],
      false,
    ),
  ).toMatchObject({
    metadata: { ownerReferences: [one, other] },
  });
});

test('invalid metadata from admission is corrected', () => {
  const before = {
    metadata: {
      name: 'm',
      managedFields: [{ manager: 'a', operation: 'Update', apiVersion: 'v1' }],
    },
  } as unknown as KubeObject;
  const admitted = (metadata: object): KubeObject => ({
    ...before,
    metadata: { ...before.metadata, ...metadata },
  });
  const warnings: string[] = [];
  expect(checkedMetadata(before, before, warnings)).toBe(before);
  expect(
    checkedMetadata(before, admitted({ managedFields: [{ manager: 'b' }] }), warnings).metadata
      .managedFields,
  ).toBe(before.metadata.managedFields);
  expect(
    checkedMetadata(before, admitted({ ownerReferences: [owner('u'), owner('u')] }), warnings),
  ).toMatchObject({
    metadata: { ownerReferences: [owner('u')] },
  });
  expect(warnings).toEqual([
    '.metadata.managedFields was in an invalid state after admission; this could be caused by ' +
      'an outdated mutating admission controller; ' +
      'please fix your requests: operation must be `Apply` or `Update`',
    TEXT(' after mutating admission happens', 'u'),
  ]);
});
