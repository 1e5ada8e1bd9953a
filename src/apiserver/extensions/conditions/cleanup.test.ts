// The deletion of a definition's objects when the definition is deleted.

import { expect, test } from 'vitest';

import {
  type CustomResourceDefinition,
  customResourceDefinitions,
} from '#api/groups/apiextensions/v1/index.ts';
import { define, definitionOf } from '#apiserver/testing/custom-resources.ts';
import { send } from '#apiserver/testing/requests.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { systemClock } from '#machinery/clock.ts';

const t = serverPerTest({ clock: systemClock });

const NAME = 'widgets.example.com';
const WIDGETS = '/apis/example.com/v1/namespaces/default/widgets';
const JSON_TYPE = { 'content-type': 'application/json' };
const definitions = () => t.client.resource<CustomResourceDefinition>(customResourceDefinitions);

const create = (name: string, metadata: object = {}) =>
  send(t.server, {
    method: 'POST',
    path: WIDGETS,
    headers: JSON_TYPE,
    body: { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name, ...metadata } },
  });

/** Resolves with the reasons of the condition Terminating, once the definition is deleted. */
async function reasonsUntilDeleted(): Promise<readonly string[]> {
  const reasons = new Set<string>();
  for await (const { type, object } of await definitions().watch({
    fieldSelector: `metadata.name=${NAME}`,
  })) {
    const terminating = object.status.conditions?.find(
      (condition) => condition.type === 'Terminating',
    );
    if (terminating !== undefined) reasons.add(`${terminating.status} ${terminating.reason ?? ''}`);
    if (type === 'DELETED') break;
  }
  return [...reasons];
}

test('its objects are deleted, and then the definition', async () => {
  await define(t.client, definitionOf());
  for (const name of ['a', 'b', 'c']) expect((await create(name)).code).toBe(201);
  const reasons = reasonsUntilDeleted();
  await definitions().delete(NAME);
  expect(await reasons).toContain('True InstanceDeletionInProgress');
  // A new definition with the same name starts without objects.
  await define(t.client, definitionOf());
  const { json } = await send(t.server, { path: WIDGETS });
  expect(json.items).toEqual([]);
});

test('an object with a finalizer delays the deletion, and no object is created meanwhile', async () => {
  await define(t.client, definitionOf());
  await create('kept', { finalizers: ['example.com/mine'] });
  const reasons = reasonsUntilDeleted();
  await definitions().delete(NAME);
  expect(await create('late')).toMatchObject({ code: 403, json: { reason: 'Forbidden' } });
  const path = `${WIDGETS}/kept`;
  const headers = { 'content-type': 'application/merge-patch+json' };
  const released = await send(t.server, {
    method: 'PATCH',
    path,
    headers,
    body: { metadata: { finalizers: null } },
  });
  expect(released.code).toBe(200);
  expect(await reasons).toContain('True InstanceDeletionInProgress');
});

test('a collection of definitions is deleted with its objects', async () => {
  await define(t.client, definitionOf());
  await create('a');
  const reasons = reasonsUntilDeleted();
  await definitions().deleteCollection();
  await reasons;
  await define(t.client, definitionOf());
  expect((await send(t.server, { path: `${WIDGETS}/a` })).code).toBe(404);
});
