// Two servers on one storage: definitions are established once, and names are accepted once.

import { expect, onTestFinished, test } from 'vitest';

import { isConditionTrue } from '#api/groups/apiextensions/v1/conditions.ts';
import {
  type CustomResourceDefinition,
  customResourceDefinitions,
} from '#api/groups/apiextensions/v1/index.ts';
import { define, definitionOf, definitionVersion } from '#apiserver/testing/custom-resources.ts';
import { send } from '#apiserver/testing/requests.ts';
import { startTestServer } from '#apiserver/testing/server.ts';
import type { Client } from '#client/client.ts';
import { systemClock, VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { Catalog } from '../../catalog/catalog.ts';
import { DefinitionConditions, OTHERS_SEE_MS } from './controller.ts';
import type { Definition } from './definition.ts';

/** Establishes a definition that is served, in a store that others may share. */
async function establish(clock: VirtualClock, hasOthers: boolean): Promise<() => boolean> {
  const definition = {
    ...definitionOf(),
    metadata: { name: 'widgets.example.com', uid: 'uid', resourceVersion: '1', generation: 1 },
    status: {
      acceptedNames: definitionOf().spec.names,
      storedVersions: ['v1'],
      conditions: [
        {
          type: 'NamesAccepted',
          status: 'True',
          reason: 'NoConflicts',
          message: 'no conflicts found',
        },
      ],
    },
  } as unknown as Definition;
  let current = definition;
  const updateStatus = (updated: Definition): Promise<Definition> =>
    Promise.resolve((current = updated));
  const conditions = new DefinitionConditions({
    catalog: new Catalog(),
    clock,
    logger: silentLogger,
    client: { resource: () => ({ updateStatus }) } as unknown as Client,
    find: <T>() => current as T,
    isServed: () => true,
    sharesStorage: true,
    hasOtherServers: () => Promise.resolve(hasOthers),
  });
  conditions.set(definition);
  const end = new AbortController();
  const running = conditions.run(end.signal);
  onTestFinished(async () => {
    end.abort();
    await running;
  });
  await clock.settle();
  return () => isConditionTrue(current.status, 'Established');
}

test('a definition is established at once if no other server is alive', async () => {
  const isEstablished = await establish(new VirtualClock(), false);
  expect(isEstablished()).toBe(true);
});

test('a definition is established when other servers had the time to see it', async () => {
  const clock = new VirtualClock();
  const isEstablished = await establish(clock, true);
  await clock.advance(OTHERS_SEE_MS - 1);
  expect(isEstablished()).toBe(false);
  await clock.advance(1);
  expect(isEstablished()).toBe(true);
});

test('a definition is served by both servers once it is established, and deleted at both', async () => {
  const first = await startTestServer({ clock: systemClock, sharesStorage: true });
  const second = await startTestServer({
    clock: systemClock,
    sharesStorage: true,
    storage: first.storage,
  });
  try {
    const { status } = await define(first.client, definitionOf());
    expect(status.conditions?.map(({ type, reason }) => [type, reason])).toEqual([
      ['NamesAccepted', 'NoConflicts'],
      ['Established', 'InitialNamesAccepted'],
    ]);
    const path = '/apis/example.com/v1/widgets';
    expect((await send(second.server, { path })).code).toBe(200);

    const other = definitionOf([definitionVersion()], { plural: 'wizards', kind: 'Widget' });
    const definitions = second.client.resource<CustomResourceDefinition>(customResourceDefinitions);
    await definitions.create(other);
    for await (const { object } of await definitions.watch({
      fieldSelector: 'metadata.name=wizards.example.com',
    })) {
      const condition = object.status.conditions?.find(({ type }) => type === 'NamesAccepted');
      if (condition === undefined) continue;
      expect(condition).toMatchObject({ status: 'False', reason: 'ListKindConflict' });
      break;
    }

    await definitions.delete('widgets.example.com');
    for await (const { type } of await definitions.watch({
      fieldSelector: 'metadata.name=widgets.example.com',
    })) {
      if (type === 'DELETED') break;
    }
    expect([...first.logger.errors, ...second.logger.errors]).toEqual([]);
  } finally {
    await second.server.stop();
    await first.stop();
  }
});
